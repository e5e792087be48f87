"""The lemmas as measurements: every measured side against enumeration or another way to compute it."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from anyorder import chains
from anyorder.chains import BagSymmetric, Dirichlet, Floored, Kernel, PointMass, Reversible
from anyorder.claims import bags, convergence, gradient, higher_order, lemmas, preconditioned, spectral, stages
from anyorder.claims.entry import Verdict
from anyorder.claims.measures import drawn
from tests import oracles_dynamics as oracles

KEY = jax.random.key(11)


def binary(zero):
    """A kernel from π(0 | …), oldest token first, as a batch of one."""
    return np.stack([zero, 1 - np.asarray(zero)], axis=-1)[None]


def test_previous_token_gap_of_one_kernel_and_of_priors():
    one = Kernel(drawn(Dirichlet(1, 3), 1)[0])
    gap, _, _ = lemmas.previous_token_gap(PointMass(one), KEY, lags=4, count=2)
    scores = [oracles.lag_score(one.probabilities, lag) for lag in range(4)]
    assert gap == pytest.approx(scores[1] - max(scores[0], scores[2], scores[3], 0.0), abs=1e-12)
    gap, error, _ = lemmas.previous_token_gap(Floored(1, 3, gamma=0.2), KEY, lags=8, count=1024)
    assert gap - 0.2**3 / 6 > 20 * error
    # A prior of persistent chains violates E[π] = 1/S, and then offset 0 is ahead: the lemma needs its assumption.
    gap, _, lag = lemmas.previous_token_gap(PointMass(Kernel(0.7 * np.eye(3) + 0.1)), KEY, lags=4, count=2)
    assert gap < 0
    assert lag == 0


def test_returns_are_those_of_enumerated_sequences_and_need_not_fall():
    example = binary([[0.8, 0.3], [0.45, 0.25]])
    expected = [oracles.later(example[0], (0, 0), i, 0) for i in (1, 2, 3, 4)]
    np.testing.assert_allclose(higher_order.returns(example, 4)[0, 0], expected, atol=1e-12)
    assert higher_order.recursion(example, 3)[0, 0].round(12).tolist() == [0.8, 0.7, 0.65]  # right up to i = 2
    # All three parts of Assumption 2 under its name, contexts newest first, and yet P^4(0|00) > P^3(0|00).
    other = binary([[0.756, 0.435], [0.983, 0.429]])
    assert higher_order.preference(other, newest_first=True) > 0
    assert higher_order.returns(other, 2)[0, :, 1].sum() >= 1
    assert Kernel(other[0]).reversible
    assert oracles.later(other[0], (0, 0), 4, 0) > oracles.later(other[0], (0, 0), 3, 0)
    assert higher_order.fall(np.concatenate([example, other])).tolist() == [True, False]


def test_assumption_two_as_printed_is_that_the_kernel_depends_on_the_bag():
    bag, other = binary([[0.8, 0.4], [0.4, 0.1]]), binary([[0.8, 0.3], [0.45, 0.25]])
    for kernel, alike in ((bag, True), (other, False)):
        words = dict(oracles.words(kernel[0], 3))
        shifted = max(abs(weight - words[(word[1], word[2], word[0])]) for word, weight in words.items())
        assert (shifted < 1e-12) == alike
        assert higher_order.cyclic_defect(kernel)[0] == pytest.approx(shifted, abs=1e-12)
        assert max(abs(weight - words[word[::-1]]) for word, weight in words.items()) < 1e-12  # reversal asks nothing
    met = higher_order.as_printed(50)
    assert len(met) == 50
    np.testing.assert_array_equal(met[:, 0, 1], met[:, 1, 0])
    assert (higher_order.preference(met, newest_first=False) > 0).all()
    assert higher_order.fall(met).all()


@pytest.mark.parametrize(("order", "size", "alike"), [(2, 2, True), (3, 2, True), (2, 3, False)])
def test_words_of_bag_symmetric_chains_are_exchangeable_for_two_symbols(order, size, alike):
    kernel = np.asarray(BagSymmetric(order, size).draw(KEY))
    words = dict(oracles.words(kernel, order + 1))
    spread = max(abs(weight - words[tuple(sorted(word))]) for word, weight in words.items())
    assert (spread < 1e-12) == alike
    scores = [oracles.lag_score(kernel, lag) for lag in range(1, order + 1)]
    assert (np.ptp(scores) < 1e-12) == alike


@pytest.mark.parametrize("order", [1, 2])
def test_return_counts_are_those_of_enumerated_sequences(order):
    kernels = drawn(Reversible(order, 3 if order == 1 else 2, falling=False), 2)
    found = spectral.counts(kernels, 3)
    for kernel, counts in zip(kernels, found, strict=True):
        for lag in range(1, 4):
            expected = sum(
                oracles.later(kernel, context, lag, symbol)
                for context in np.ndindex(*(kernel.shape[-1],) * order)
                for symbol in context
            )
            assert counts[lag - 1] == pytest.approx(expected, abs=1e-12)


def test_covariance_decay_needs_reversibility():
    assert lemmas.covariance_ratio(Kernel(drawn(Reversible(1, 3), 2)[0])) <= 1 + 1e-7
    cyclic = Kernel([[0.1, 0.8, 0.1], [0.1, 0.1, 0.8], [0.5, 0.25, 0.25]])
    weights = oracles.stationary(cyclic.probabilities)
    pair = sum(weight * (word[0] == 0) * (word[2] == 0) for word, weight in oracles.words(cyclic.probabilities, 3))
    assert lemmas.covariances(cyclic, 3)[2, 0] == pytest.approx(pair - weights[(0,)] ** 2, abs=1e-12)
    assert lemmas.covariance_ratio(cyclic) > 1.005


def test_frequency_variance_is_that_of_enumerated_sequences():
    chain = Kernel(drawn(Dirichlet(2, 2), 1)[0])
    mean = chain.symbol_distribution[1]
    expected = sum(weight * (np.mean(word) - mean) ** 2 for word, weight in oracles.words(chain.probabilities, 5))
    modulus = abs(np.linalg.eigvals(np.asarray(chain.transition_matrix)))
    found = lemmas.scaled_variances(chain, (5, 64))
    assert found[0, 1] == pytest.approx(expected * 5 * (1 - np.sort(modulus)[-2]), abs=1e-9)
    assert found.max() < 0.5


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


def test_time_to_one_over_k_is_that_of_plain_steps():
    scores = gradient.mean_scores(Floored(1, 3), 64, 64)
    (found,) = stages.descent_times(Floored(1, 3), 64, (16,), 0.1)
    p, direction = gradient.descent_start(scores[:16], 1), None
    p[0] = -1e9
    for taken in range(10_000):
        if np.exp(p[1] - p.max()) / np.exp(p - p.max()).sum() >= 0.9:
            break
        direction = oracles.stage_one_gradient(p, scores[:16], 1.0, 3, 1)
        rate = 0.05 / np.abs(direction).max() if taken == 0 else rate
        p = p - rate * direction
    assert found == pytest.approx(rate * taken, rel=1e-6)


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


def test_extreme_kernels_are_the_corners_of_the_floor():
    corners = convergence.extreme_kernels(0.2, 3)
    assert len(corners) == 27
    assert corners.min() == pytest.approx(0.2 / 3)
    np.testing.assert_allclose(corners.sum(axis=2), 1)
    assert ((corners > 0.2 / 3 + 1e-9).sum(axis=2) == 1).all()


def test_the_any_order_theorem_is_vacuous_only_while_no_chain_meets_its_assumption(monkeypatch):
    monkeypatch.setattr(preconditioned, "any_order_assumption", lambda: ({}, False))
    monkeypatch.setattr(preconditioned, "mean_scores", lambda prior, count: None)
    monkeypatch.setattr(preconditioned, "_ends", lambda scores, order: np.full(order, 1 / order))
    monkeypatch.setattr(preconditioned, "_distances", lambda order, prior, p: np.array([0.1, 0.01]))
    assert preconditioned.thm_any_order.measure().verdict is Verdict.VACUOUS
    monkeypatch.setattr(preconditioned, "any_order_assumption", lambda: ({}, True))
    assert preconditioned.thm_any_order.measure().verdict is Verdict.CORRECTED
    monkeypatch.setattr(preconditioned, "_distances", lambda order, prior, p: np.array([0.01, 0.1]))
    assert preconditioned.thm_any_order.measure().verdict is Verdict.HOLDS


def test_the_bag_estimates_kernels_of_the_bag_and_no_others():
    bag = bags.kernel_errors(BagSymmetric(2, 2), [512], 16)
    other = bags.kernel_errors(Dirichlet(2, 2), [512], 16)
    assert bag["bag of k"] < bag["k-gram"] < [0.08]
    assert other["bag of k"][0] > 1.5 * other["k-gram"][0]
