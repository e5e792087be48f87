"""Rounding of every operation of a program."""

import jax
import jax.numpy as jnp
import numpy as np

from anyorder.papers.own.precision import rounded


def test_every_result_is_rounded():
    weights = jnp.asarray([[0.9, 0.1], [0.2, -1.0]], jnp.float64)
    read = jnp.asarray([0.3, 0.8], jnp.float64)

    def function(weights, read):
        return jax.jit(lambda weights, read: jax.nn.softmax(weights @ read))(weights, read) + 0.3

    program = jax.make_jaxpr(function)(weights, read)
    (found,) = rounded(program.jaxpr, program.consts, [weights, read], lambda values: jnp.round(2 * values) / 2)
    np.testing.assert_array_equal(found, np.round(2 * found) / 2)
