"""The reduced model against plain loops and the full transformer."""

from __future__ import annotations

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

from anyorder.papers.two_can import dynamics
from tests import oracles_dynamics as own
from tests.papers.two_can.dynamics.small import random_model


def random_tokens(length=12, size=3):
    return jax.random.randint(jax.random.key(99), (length,), 0, size, jnp.int32)


@pytest.mark.parametrize(("order", "normalise", "excluded"), [(1, False, False), (1, True, True), (3, True, False)])
def test_reduced_model_is_that_of_plain_loops_and_of_the_full_transformer(order, normalise, excluded):
    model, tokens = random_model(order, normalise, excluded=excluded), random_tokens()
    asked = np.array([[(i + j) % 3 for j in range(order)] for i in range(3)])
    predicted = eqx.filter_jit(lambda model: model.predict(tokens, jnp.asarray(asked, jnp.int32), 3))(model)
    p, r = np.asarray(model.p), np.asarray(model.r)
    for context, distribution in zip(asked, predicted, strict=True):
        expected = own.reduced(np.asarray(tokens), p, r, 2.5, context, 3, normalise)
        np.testing.assert_allclose(distribution, expected, atol=1e-14)
    full = np.asarray(dynamics.as_transformer(model, 3)(tokens))
    for n in range(order - 1, len(tokens)):
        seen = np.asarray(tokens)[: n + 1]
        expected = own.reduced(seen, p, r, 2.5, seen[-order:], 3, normalise)
        np.testing.assert_allclose(full[n], expected, atol=1e-14)
