"""The lemmas as measurements: g_{i,j} and every measured side against enumeration, and bounds that hold or fail."""

from __future__ import annotations

import functools

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from anyorder import chains, dynamics
from anyorder.chains import Dirichlet, Floored, Kernel, PointMass, Reversible
from anyorder.errors import InputError
from tests import oracles_dynamics as oracles

KEY = jax.random.key(11)


@functools.cache
def kernel(order, size, seed=0):
    return np.asarray(Dirichlet(order, size).draw(jax.random.key(seed)))


def binary(zero):
    """A kernel from π(0 | …), oldest token first."""
    return Kernel(np.stack([zero, 1 - np.asarray(zero)], axis=-1))


@pytest.mark.parametrize(("order", "size"), [(1, 2), (1, 3), (2, 2), (2, 3), (3, 2)])
def test_lag_scores_are_those_of_enumerated_sequences(order, size):
    scores = jax.jit(dynamics.lag_scores, static_argnums=1)(jnp.asarray(kernel(order, size)), 4)
    expected = [oracles.lag_score(kernel(order, size), lag) for lag in range(4)]
    np.testing.assert_allclose(scores, expected, atol=1e-12)


@pytest.mark.parametrize("excluded", [False, True])
def test_closed_gradient_is_the_printed_sum(excluded):
    rng = np.random.default_rng(0)
    p, scores = rng.normal(size=9), rng.normal(size=9)
    if excluded:
        p[0] = -1e9
    computed = jax.jit(dynamics.stage_one_gradient, static_argnums=(3, 4))(p, scores, 0.3, 9, 2)
    expected = oracles.stage_one_gradient(p, scores, 0.3, 3, 2)
    np.testing.assert_allclose(computed, expected, atol=1e-15)
    assert abs(expected).max() > 1e-3


def test_previous_token_gap_of_one_kernel_and_of_priors():
    one = Kernel(kernel(1, 3))
    result = dynamics.previous_token_gap(PointMass(one), 0.2, KEY, lags=4, count=2)
    scores = [oracles.lag_score(one.probabilities, lag) for lag in range(4)]
    others = [scores[0], scores[2], scores[3], 0.0]
    assert result.measured == pytest.approx(scores[1] - max(others), abs=1e-12)
    assert result.bound == pytest.approx(0.2**3 / 6)
    meets = dynamics.previous_token_gap(Floored(1, 3, gamma=0.2), 0.2, KEY, lags=8, count=1024)
    assert meets.slack > 20 * meets.standard_error
    # A prior of persistent chains violates E[π] = 1/S, and then offset 0 is ahead: the lemma needs its assumption.
    persistent = PointMass(Kernel(0.7 * np.eye(3) + 0.1))
    violates = dynamics.previous_token_gap(persistent, 0.2, KEY, lags=4, count=2)
    assert not violates.holds
    assert violates.worst_lag == 0


def test_the_second_order_recursion_is_false_and_so_is_the_decrease():
    example = binary([[0.8, 0.3], [0.45, 0.25]])
    result = dynamics.second_order_decay(example)
    expected = [oracles.later(example.probabilities, (0, 0), i, 0) for i in (1, 2, 3, 4)]
    np.testing.assert_allclose(result.returns[0, :4], expected, atol=1e-12)
    assert result.recursion[0, :3].round(12).tolist() == [0.8, 0.7, 0.65]  # right for i = 2, erratum E9 from i = 3
    assert result.returns[0, 1] == pytest.approx(0.7)
    assert result.returns[0, 2] == pytest.approx(0.622)
    assert result.holds
    # All three parts of the assumption, contexts newest first, and yet P^4(0|00) > P^3(0|00).
    other = binary([[0.756, 0.435], [0.983, 0.429]])
    grown = dynamics.second_order_decay(other)
    assert grown.preference > 0
    assert grown.returns[:, 1].sum() >= 1
    assert other.reversible
    assert not grown.holds
    assert grown.worst_step == 3
    drops = [
        oracles.later(other.probabilities, (s, s), 3, s) - oracles.later(other.probabilities, (s, s), 4, s)
        for s in (0, 1)
    ]
    assert grown.measured == pytest.approx(min(drops), abs=1e-12)
    assert grown.measured < -0.005


def test_the_second_order_identity_of_the_scores_is_false():
    result = dynamics.second_order_decay(binary([[0.8, 0.3], [0.45, 0.25]]))
    example = binary([[0.8, 0.3], [0.45, 0.25]]).probabilities
    score = oracles.lag_score(example, 2)
    claimed = 2 * (sum(oracles.later(example, (s, s), 3, s) for s in (0, 1)) - 1)
    assert result.scores[1] == pytest.approx(score, abs=1e-12)
    assert result.identity_error >= abs(score - claimed) - 1e-12 > 0.1
    symmetric = dynamics.second_order_decay(binary([[0.7, 0.3], [0.7, 0.3]]))  # order one in disguise
    assert symmetric.identity_error < 1e-9


@pytest.mark.parametrize("order", [1, 2])
def test_spectral_decay(order):
    drawn = Kernel(np.asarray(Reversible(order, 3 if order == 1 else 2).draw(KEY)))
    result = dynamics.spectral_decay(drawn, steps=4)
    for lag in range(1, 4):
        expected = sum(
            oracles.later(drawn.probabilities, context, lag, symbol)
            for context in np.ndindex(*(drawn.alphabet_size,) * order)
            for symbol in context
        )
        assert result.counts[lag - 1] == pytest.approx(expected, abs=1e-12)
    assert result.holds
    assert result.printed_change < 1e-12  # E17: as printed it does not depend on the lag
    assert (result.formula_error < 1e-12) if order == 1 else np.isnan(result.formula_error)  # E16


def test_covariance_decay_needs_reversibility():
    reversible = Kernel(np.asarray(Reversible(1, 3).draw(KEY)))
    assert dynamics.covariance_decay(reversible).holds
    cyclic = Kernel([[0.1, 0.8, 0.1], [0.1, 0.1, 0.8], [0.5, 0.25, 0.25]])
    result = dynamics.covariance_decay(cyclic)
    weights = oracles.stationary(cyclic.probabilities)
    pair = sum(weight * (word[0] == 0) * (word[2] == 0) for word, weight in oracles.words(cyclic.probabilities, 3))
    assert result.covariances[2, 0] == pytest.approx(pair - weights[(0,)] ** 2, abs=1e-12)
    assert cyclic.reversibility_defect > 0.01
    assert not result.holds


def test_frequency_variance_is_that_of_enumerated_sequences():
    chain = Kernel(kernel(2, 2))
    result = dynamics.frequency_variance(chain, lengths=(5, 64, 512))
    mean = chain.symbol_distribution[1]
    expected = sum(weight * (np.mean(word) - mean) ** 2 for word, weight in oracles.words(chain.probabilities, 5))
    assert result.variances[0, 1] == pytest.approx(expected, abs=1e-12)
    modulus = abs(np.linalg.eigvals(np.asarray(chain.transition_matrix)))
    assert result.scaled[0, 1] == pytest.approx(expected * 5 * (1 - np.sort(modulus)[-2]), abs=1e-9)
    assert result.holds


def test_linearisation_is_the_change_of_a_derivative():
    prior = Dirichlet(2, 2)
    result = dynamics.linearisation(prior, KEY, a_2=0.5, epsilon=0.2, length=12, count=1)
    drawn = chains.sample(KEY, prior, length=12, count=1, start="stationary")
    tokens, rows = drawn.tokens[0], np.asarray(drawn.kernels[0]).reshape(4, 2)
    hot, contexts = np.eye(2)[tokens], np.array([[0, 0], [0, 1], [1, 0], [1, 1]])
    queries = np.eye(2)[contexts].mean(axis=1)

    @jax.jit
    def pull(a_2):  # through the derivative of the loss by the first layer's attention
        def loss(attention):
            logits = jax.nn.softmax(a_2 * queries @ (attention @ hot).T, axis=1) @ hot
            return -(rows * jnp.log(logits + 0.2)).sum()

        uniform = jnp.tril(jnp.ones((12, 12), jnp.float64)) / jnp.arange(1, 13, dtype=jnp.float64)[:, None]
        return -12 / a_2 * jax.grad(loss)(uniform)

    expected = jnp.abs(pull(0.5) - pull(1e-7)).max()
    assert result.measured == pytest.approx(float(expected), rel=1e-4)
    assert result.measured == result.largest_on_a_sequence
    assert result.bound == pytest.approx(6 * 2**3 / 0.2**2 * 0.5)
    assert result.sharper_bound < result.bound
    assert result.holds


def test_convergence_time_grows_far_slower_than_its_bound():
    result = dynamics.convergence_time(Floored(1, 3), KEY, lengths=(16, 32, 64), step=0.2)
    assert 1.8 < result.bound < 2.2
    assert 0 < result.measured < 1
    assert (np.diff(result.ratios) < 0).all()
    finer = dynamics.convergence_time(Floored(1, 3), KEY, lengths=(16, 32, 64), step=0.1)
    np.testing.assert_allclose(finer.times, result.times, rtol=0.1)  # the step size cancels


def test_stage_two_slope_is_positive_until_finite_length_stops_it():
    grid = (0.01, 1.0, 2.0)
    early = dynamics.stage_two_slope(Floored(1, 3), 0.2, KEY, length=64, count=256, a_2=grid)
    assert early.holds
    assert early.measured > 5 * early.standard_error
    assert (early.slopes < 1).all()
    assert early.turning_point is None
    late = dynamics.stage_two_slope(Floored(1, 3), 0.2, KEY, length=64, count=256, a_2=(1.0, 2.0, 6.0))
    assert late.turning_point == 6.0
    assert not late.holds


def test_frequency_ratio_and_row_gap():
    ratio = dynamics.frequency_ratio(Kernel([[0.8, 0.2], [0.3, 0.7]]), KEY, lengths=(16, 64), count=512)
    assert ratio.holds
    assert -1 < ratio.exponent < 0
    scores = np.array([0.0, 0.2, 0.01, 0.05])
    p = np.array([0.1, 1.0, 0.0, -0.3])
    gap = dynamics.row_gap(scores, p, alphabet_size=3)
    weights = np.array(oracles.softmax(p[: gap.row + 1]))
    pulls = weights * (scores[: gap.row + 1] - weights @ scores[: gap.row + 1])
    expected = (pulls[1] - pulls[gap.lag]) / (weights[1] * (1 - weights[1])) / 3
    assert gap.measured == pytest.approx(expected)
    assert gap.holds
    assert not dynamics.row_gap(scores[[1, 0, 2, 3]], np.zeros(4), alphabet_size=3).holds


def test_power_law_agrees_with_polyfit():
    x, y = np.array([8.0, 16, 32, 64]), np.array([0.9, 0.5, 0.24, 0.13])
    coefficients, covariance = np.polyfit(np.log(x), np.log(y), 1, cov=True)
    law = dynamics.power_law(x.tolist(), y)
    assert law.exponent == pytest.approx(coefficients[0])
    assert law.standard_error == pytest.approx(np.sqrt(covariance[0, 0]))


def test_what_a_lemma_is_not_about_is_refused():
    with pytest.raises(InputError, match="order 2, this lemma is about order 1"):
        dynamics.previous_token_gap(Dirichlet(2, 2), 0.2, KEY)
    with pytest.raises(InputError, match="order 1 over 2 symbols"):
        dynamics.second_order_decay(Kernel([[0.5, 0.5], [0.5, 0.5]]))
    with pytest.raises(InputError, match="a_2 is 2"):
        dynamics.linearisation(Floored(1, 2), KEY, a_2=2.0, epsilon=0.1)


def test_the_reading_of_the_transition_preference_decides_which_score_leads():
    keys = jax.random.split(KEY, 512)
    means = {}
    for newest_first in (False, True):
        prior = chains.ReversibleBinary(newest_first=newest_first)
        drawn = np.asarray(jax.jit(jax.vmap(prior.draw))(keys))
        preference = drawn[:, 0, 0, 0] - (drawn[:, 0, 1, 0] if newest_first else drawn[:, 1, 0, 0])
        assert (preference > 0).all()
        scores = jax.jit(jax.vmap(lambda kernel: dynamics.lag_scores(kernel, 3)))(drawn)
        gaps = np.asarray(scores[:, 1] - scores[:, 2])
        means[newest_first] = gaps.mean() / (gaps.std() / np.sqrt(len(gaps)))
    assert means[False] < -3  # g_2 leads: Algorithm 2 pulls p_1 and p_2 down
    assert means[True] > 3
