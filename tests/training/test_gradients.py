"""Hand-written gradients against automatic ones of the same functions."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from anyorder.models import LayerNorm
from anyorder.models.arithmetic import unit
from anyorder.training import gradients


def softmax(scores):
    return jax.nn.softmax(jnp.where(jnp.tri(scores.shape[-1]) > 0, scores, -jnp.inf), axis=-1)


FUNCTIONS = {
    "linear": (gradients.linear, lambda x, weight: x @ weight.T, [(5, 3), (4, 3)]),
    "add_row": (gradients.add_row, lambda x, row: x + row, [(5, 3), (3,)]),
    "layer_norm": (
        gradients.layer_norm,
        lambda x, gain, bias: LayerNorm(gain, bias)(x),
        [(5, 3), (3,), (3,)],
    ),
    "causal_softmax": (gradients.causal_softmax, softmax, [(2, 5, 5)]),
    "mix": (gradients.mix, lambda weights, values: weights @ values, [(2, 5, 5), (2, 5, 3)]),
    "unit_products": (
        gradients.unit_products,
        lambda queries, keys: unit(queries) @ unit(keys).swapaxes(1, 2),
        [(2, 5, 3), (2, 5, 3)],
    ),
}


@pytest.mark.parametrize("name", FUNCTIONS)
def test_a_gradient_written_by_hand_is_the_derived_one(name):
    ours, plain, shapes = FUNCTIONS[name]
    rng = np.random.default_rng(0)
    given = [jnp.asarray(rng.normal(size=shape)) for shape in shapes]
    if name == "unit_products":
        given[0] = given[0].at[0, 0].set(0.0)  # a vector without a direction
    (value, pull), (expected, expected_pull) = jax.vjp(ours, *given), jax.vjp(plain, *given)
    np.testing.assert_allclose(value, expected, atol=1e-14)
    pulled = jnp.asarray(rng.normal(size=value.shape))
    for one, other in zip(pull(pulled), expected_pull(pulled), strict=True):
        np.testing.assert_allclose(one, other, atol=1e-13)
