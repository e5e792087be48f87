"""Rounding of every operation, few levels, and a network whose attention is rounded to them."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from anyorder.models import quantised
from anyorder.papers.two_can.experiments.bits import FORMATS
from tests.papers.two_can.experiments.small import TOKENS, model


def test_every_result_is_rounded():
    weights = jnp.asarray([[0.9, 0.1], [0.2, -1.0]], jnp.float64)
    read = jnp.asarray([0.3, 0.8], jnp.float64)

    def function(weights, read):
        return jax.jit(lambda weights, read: jax.nn.softmax(weights @ read))(weights, read) + 0.3

    found = np.asarray(quantised.rounded(function, lambda values: jnp.round(2 * values) / 2)(weights, read))
    np.testing.assert_array_equal(found, np.round(2 * found) / 2)


@pytest.mark.parametrize("bits", [2, 4, 8])
def test_levels_are_as_many_as_the_bits_say(bits):
    signed = np.asarray(quantised.to_bits(bits).signed(jnp.linspace(-1, 1, 10_001, dtype=jnp.float64)))
    assert len(np.unique(signed)) == 2**bits - 1
    shares = np.asarray(quantised.to_bits(bits).share(jnp.linspace(0, 1, 10_001, dtype=jnp.float64)))
    assert len(np.unique(shares)) == 2**bits


@pytest.mark.slow
@pytest.mark.parametrize("preset", ["paper", "floor", "published"])
def test_with_no_rounding_it_is_the_transformer(preset):
    trained = model(preset)
    for layer, found in enumerate(quantised.quantised_attention(trained, TOKENS[0], FORMATS["32"])):
        np.testing.assert_allclose(found, trained.trace(TOKENS[0]).attention[layer], atol=1e-6)


def test_the_denominator_is_whole():
    """Attention that is even over its keys stays so with two bits: its rows sum to one."""
    even = model("paper", weights="gpt2")
    (first, _) = quantised.quantised_attention(even, TOKENS[0], quantised.to_bits(2))
    whole = np.asarray(quantised.quantised_attention(even, TOKENS[0], FORMATS["32"])[0])
    assert np.ptp(whole[0, -1]) < 0.01  # hardly trained: nearly uniform
    np.testing.assert_allclose(first.sum(axis=-1), 1.0, atol=0.05)
