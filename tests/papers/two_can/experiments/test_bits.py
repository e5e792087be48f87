"""Few levels, a network whose attention is rounded to them, and its distances, which are finite with two bits too."""

import jax.numpy as jnp
import numpy as np
import pytest

from anyorder.papers.two_can.experiments.bits import FORMATS, distances, quantised_attention, to_bits
from tests.papers.two_can.experiments.small import TOKENS, model


@pytest.mark.parametrize("preset", ["paper", "floor"])
@pytest.mark.slow
def test_no_format_gives_a_nan(preset):
    # A small start makes queries and keys tiny, where a rounded denominator gave 0/0.
    for q in FORMATS.values():
        assert np.isfinite(distances([model(preset, weights="gpt2")], TOKENS, 2, q)).all()


@pytest.mark.parametrize("bits", [2, 4, 8])
def test_levels_are_as_many_as_the_bits_say(bits):
    signed = np.asarray(to_bits(bits).signed(jnp.linspace(-1, 1, 10_001, dtype=jnp.float64)))
    assert len(np.unique(signed)) == 2**bits - 1
    shares = np.asarray(to_bits(bits).share(jnp.linspace(0, 1, 10_001, dtype=jnp.float64)))
    assert len(np.unique(shares)) == 2**bits


@pytest.mark.slow
@pytest.mark.parametrize("preset", ["paper", "floor", "published"])
def test_with_no_rounding_it_is_the_transformer(preset):
    trained = model(preset)
    for layer, found in enumerate(quantised_attention(trained, TOKENS[0], FORMATS["32"])):
        np.testing.assert_allclose(found, trained.trace(TOKENS[0]).attention[layer], atol=1e-6)


def test_the_denominator_is_whole():
    """Attention that is even over its keys stays so with two bits: its rows sum to one."""
    even = model("paper", weights="gpt2")
    (first, _) = quantised_attention(even, TOKENS[0], to_bits(2))
    whole = np.asarray(quantised_attention(even, TOKENS[0], FORMATS["32"])[0])
    assert np.ptp(whole[0, -1]) < 0.01  # hardly trained: nearly uniform
    np.testing.assert_allclose(first.sum(axis=-1), 1.0, atol=0.05)
