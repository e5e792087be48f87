"""Loss, gradient, estimators and Bayes rows against oracles."""

from __future__ import annotations

import dataclasses
from fractions import Fraction

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from anyorder import chains
from anyorder.chains import Dirichlet, Floored
from anyorder.papers.two_can.dynamics import objective
from tests import oracles
from tests import oracles_dynamics as own
from tests.papers.two_can.dynamics.small import KEY, random_model


def test_loss_and_its_gradient():
    drawn = chains.sample(Dirichlet(2, 2), length=10, count=1, start="stationary", seed=KEY)
    tokens, kernel = drawn.tokens[0], drawn.kernels[0]
    model, rows = random_model(2, True, 10), np.asarray(kernel).reshape(4, 2)

    def loss(p, a_2):
        contexts = [(0, 0), (0, 1), (1, 0), (1, 1)]
        total = 0.0
        for context, row in zip(contexts, rows, strict=True):
            mixed = (own.reduced(np.asarray(tokens), p, np.asarray(model.r), a_2, context, 2, True) + 0.01) / 1.02
            total += (row * np.log(row / mixed)).sum() / 4
        return total

    @jax.jit
    def both(p, a_2):
        moved = dataclasses.replace(model, p=p, a_2=a_2)
        return objective.model_excess(moved, tokens, kernel, 0.01)

    p = np.asarray(model.p)
    value, (by_p, by_a_2) = jax.value_and_grad(both, argnums=(0, 1))(model.p, model.a_2)
    assert float(value) == pytest.approx(loss(p, 2.5), abs=1e-13)
    step = 1e-6
    numeric = [(loss(p + step * unit, 2.5) - loss(p - step * unit, 2.5)) / (2 * step) for unit in np.eye(10)]
    np.testing.assert_allclose(by_p, numeric, atol=1e-8)
    assert float(by_a_2) == pytest.approx((loss(p, 2.5 + step) - loss(p, 2.5 - step)) / (2 * step), abs=1e-8)


def test_estimators_are_those_of_the_oracles():
    tokens = [0, 1, 1, 0, 1, 0, 0, 1, 1, 1, 0, 1]
    counts = objective.followers(jnp.array(tokens, jnp.int32), 2, 2)
    kgram, bag = objective.frequencies(counts), objective.frequencies(objective.bagged(counts, 2))
    for place, context in enumerate(objective.all_contexts(2, 2).tolist()):
        expected = [oracles.normalise(found, 2) for found in (followers(tokens, context, False),
                                                              followers(tokens, context, True))]  # fmt: skip
        np.testing.assert_allclose(kgram[place], [float(value) for value in expected[0]])
        np.testing.assert_allclose(bag[place], [float(value) for value in expected[1]])


def followers(tokens, context, unordered):
    key = sorted if unordered else list
    found = oracles.Counter()
    for i in range(len(context), len(tokens)):
        if key(tokens[i - len(context) : i]) == key(context):
            found[tokens[i]] += 1
    return found


def test_bayes_rows_are_exact_posterior_means():
    counts = jnp.array([[3.0, 0.0, 2.0], [0.0, 0.0, 0.0], [1.0, 4.0, 1.0]])
    floored = objective.bayes_rows(Floored(1, 3, gamma=0.2), 16)(counts)
    for row, given in zip(counts, floored, strict=True):
        expected = own.floored_row([int(count) for count in row], Fraction(1, 5))
        np.testing.assert_allclose(given, [float(value) for value in expected], atol=1e-12)
    plain = objective.bayes_rows(Dirichlet(1, 3), 16)(counts)
    np.testing.assert_allclose(plain[0], [4 / 8, 1 / 8, 3 / 8])
    assert objective.bayes_rows(chains.Reversible(1, 3), 16) is None
