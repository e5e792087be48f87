"""Rounding of every operation, and of vectors to few levels."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from anyorder.experiments import quantised
from anyorder.experiments.rounding import rounded


def test_every_result_is_rounded():
    weights = jnp.asarray([[0.9, 0.1], [0.2, -1.0]], jnp.float64)
    read = jnp.asarray([0.3, 0.8], jnp.float64)

    def function(weights, read):
        return jax.jit(lambda weights, read: jax.nn.softmax(weights @ read))(weights, read) + 0.3

    found = np.asarray(rounded(function, lambda values: jnp.round(2 * values) / 2)(weights, read))
    np.testing.assert_array_equal(found, np.round(2 * found) / 2)


@pytest.mark.parametrize("bits", [2, 4, 8])
def test_levels_are_as_many_as_the_bits_say(bits):
    signed = np.asarray(quantised.bits(bits).signed(jnp.linspace(-1, 1, 10_001, dtype=jnp.float64)))
    assert len(np.unique(signed)) == 2**bits - 1
    shares = np.asarray(quantised.bits(bits).share(jnp.linspace(0, 1, 10_001, dtype=jnp.float64)))
    assert len(np.unique(shares)) == 2**bits
