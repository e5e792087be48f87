"""The positional keys of three layers."""

import math

import equinox as eqx
import jax.numpy as jnp
import numpy as np

from anyorder.constructions import construct
from tests.constructions.cases import RANDOM


def test_key_positions_times_kappa_are_one_hot():
    """Erratum 11: kappa·(i + 1)·log 3 loses the weights 3^i that i·log 3 + kappa gives."""
    model = construct("three-layer", order=3, alphabet_size=2, length=40)
    quoted = jnp.zeros_like(model.layers[0].heads[0].key_positions)
    quoted = quoted.at[:3, 0].set(40.0 * math.log(3) * jnp.arange(1, 4))
    wrong = eqx.tree_at(lambda m: m.layers[0].heads[0].key_positions, model, quoted)
    row = np.asarray(model.trace(RANDOM[0, :40]).attention[0])[0, 20]
    np.testing.assert_allclose(row[[20, 19, 18]], np.array([1, 3, 9]) / 13, atol=1e-12)
    assert np.asarray(wrong.trace(RANDOM[0, :40]).attention[0])[0, 20, 18] > 0.999
