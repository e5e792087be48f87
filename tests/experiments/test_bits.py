"""A quantised network: exact with an exact quantiser, finite with two bits, its denominators whole."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from anyorder.experiments import quantised
from anyorder.experiments.bits import FORMATS, distances
from anyorder.training import config as configs
from anyorder.training.config import PRESETS
from anyorder.training.initial import initial_model

TOKENS = jnp.asarray(np.random.default_rng(0).integers(0, 2, (2, 12)), jnp.int32)


def model(preset, **changes):
    config = configs.changed(PRESETS[preset], {"dimension": 16, "length": 12, "weights": "fan-in", **changes})
    return initial_model(config, jax.random.key(0))


@pytest.mark.parametrize("preset", ["paper", "floor", "published"])
def test_with_no_rounding_it_is_the_transformer(preset):
    trained = model(preset)
    for layer, found in enumerate(quantised.attention(trained, TOKENS[0], FORMATS["32"])):
        np.testing.assert_allclose(found, trained.trace(TOKENS[0]).attention[layer], atol=1e-6)


@pytest.mark.parametrize("preset", ["paper", "floor"])
def test_no_format_gives_a_nan(preset):
    # A small start makes queries and keys tiny, where a rounded denominator gave 0/0.
    for q in FORMATS.values():
        assert np.isfinite(distances([model(preset, weights="gpt2")], TOKENS, 2, q)).all()


def test_the_denominator_is_whole():
    """Attention that is even over its keys stays so with two bits: its rows sum to one."""
    even = model("paper", weights="gpt2")
    (first, _) = quantised.attention(even, TOKENS[0], quantised.bits(2))
    whole = np.asarray(quantised.attention(even, TOKENS[0], FORMATS["32"])[0])
    assert np.ptp(whole[0, -1]) < 0.01  # hardly trained: nearly uniform
    np.testing.assert_allclose(first.sum(axis=-1), 1.0, atol=0.05)
