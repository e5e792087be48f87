"""The lemmas about the stages of training: each measured side against another way to compute it."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from anyorder import chains
from anyorder.chains import Dirichlet, Floored
from anyorder.papers.two_can.claims import gradient, stages
from tests import oracles_dynamics as oracles
from tests.papers.two_can.claims.small import KEY


@pytest.mark.slow
def test_linearisation_is_the_change_of_a_derivative():
    prior = Dirichlet(2, 2)
    found = stages.pull_difference(prior, KEY, jnp.float64(0.5), 0.2, 12, 1)
    sampled = chains.sample(prior, length=12, count=1, start="stationary", seed=KEY)
    tokens, rows = sampled.tokens[0], np.asarray(sampled.kernels[0]).reshape(4, 2)
    hot, contexts = np.eye(2)[tokens], np.array([[0, 0], [0, 1], [1, 0], [1, 1]])
    queries = np.eye(2)[contexts].mean(axis=1)

    @jax.jit
    def pull(a_2):  # through the derivative of the loss by the first layer's attention
        def loss(attention):
            logits = jax.nn.softmax(a_2 * queries @ (attention @ hot).T, axis=1) @ hot
            return -(rows * jnp.log(logits + 0.2)).sum()

        uniform = jnp.tril(jnp.ones((12, 12), jnp.float64)) / jnp.arange(1, 13, dtype=jnp.float64)[:, None]
        return -12 / a_2 * jax.grad(loss)(uniform)

    assert float(found) == pytest.approx(float(jnp.abs(pull(0.5) - pull(1e-7)).max()), rel=1e-4)


def test_the_constant_of_a_row_is_that_of_its_printed_inequality():
    scores, p = np.array([0.0, 0.2, 0.15, 0.05, 0.01]), np.array([-1e9, 1.0, 1.0, 0.0, -0.3])
    smallest = []
    for row in (3, 4):  # rows with more than the k offsets and p_0
        weights = np.array(oracles.softmax(p[: row + 1]))
        pulls = weights * (scores[: row + 1] - weights @ scores[: row + 1])
        smallest += [
            (pulls[r] - pulls[j]) / (weights[r] * (1 - weights[r])) / 4 / 2
            for r in (1, 2)
            for j in range(row + 1)
            if j not in (1, 2)
        ]
    assert stages.row_gap(scores, p, 2, 4) == pytest.approx(min(smallest))
    assert stages.row_gap(scores[[1, 0, 2, 3, 4]], np.zeros(5), 1, 3) < 0


def test_the_pull_on_p_k_turns_where_g_k_is_below_g_1():
    far = np.array([-1e9, 6.0, 6.0, 0.0, 0.0, 0.0])
    assert stages.row_gap(np.array([1.0, 0.4, 0.3, 0.1, 0.1, 0.1]), far, 2, 4) < 0
    assert stages.row_gap(np.array([1.0, 0.4, 0.4, 0.1, 0.1, 0.1]), far, 2, 4, share=2) > 0.01


@pytest.mark.slow
def test_time_to_one_over_k_is_that_of_plain_steps():
    scores = gradient.mean_scores(Floored(1, 3), 64, 64)
    (found,) = stages.descent_times(Floored(1, 3), 64, (16,), 0.1)
    p, direction = np.zeros(16), None
    p[0] = -1e9
    for taken in range(10_000):
        if np.exp(p[1] - p.max()) / np.exp(p - p.max()).sum() >= 0.9:
            break
        direction = oracles.stage_one_gradient(p, scores[:16], 1.0, 3, 1)
        rate = 0.05 / np.abs(direction).max() if taken == 0 else rate
        p = p - rate * direction
    assert found == pytest.approx(rate * taken, rel=1e-6)


@pytest.mark.slow
def test_slopes_of_a_2_are_those_of_differences():
    grid = jnp.array([0.5, 6.0])
    slopes = stages.slopes_of_a_2(Floored(1, 3), KEY, grid, 32, 1e-3, 4)
    sampled = chains.sample(Floored(1, 3), length=32, count=4, start="stationary", seed=KEY)
    p = np.full(32, -1e9)
    p[1] = 0.0

    def loss(a_2, tokens, rows):
        total = 0.0
        for symbol, row in enumerate(rows):
            given = oracles.reduced(np.asarray(tokens), p, np.zeros(1), a_2, (symbol,), 3, True)
            total += (row * np.log(row / ((given + 1e-3) / 1.003))).sum() / 3
        return total

    tokens, rows = sampled.tokens[0], np.asarray(sampled.kernels[0])
    expected = [-(loss(a + 1e-5, tokens, rows) - loss(a - 1e-5, tokens, rows)) / 2e-5 for a in (0.5, 6.0)]
    np.testing.assert_allclose(slopes[0], expected, atol=1e-7)
