"""The lemmas as measurements: each measured side against enumeration."""

from __future__ import annotations

import jax.numpy as jnp
import numpy as np
import pytest

from anyorder.chains import Dirichlet, Floored, Kernel, PointMass, Reversible
from anyorder.papers.two_can.claims import lemmas
from anyorder.papers.two_can.claims.measures import drawn
from tests import oracles_dynamics as oracles
from tests.papers.two_can.claims.small import KEY


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


#: A generator over three symbols whose slow chains need a larger constant than ½.
GENERATOR = np.array([[-0.546, 0.546, 0.0], [0.0, -1.42, 1.42], [1.407, 0.546, -1.953]])


@pytest.mark.slow
def test_the_constant_of_slow_chains_is_the_limit_of_exact_variances():
    rates = np.clip(GENERATOR, np.exp(-6.9), None)
    constants = []
    for shift in range(3):  # the symbol whose frequency is meant comes first
        moved = np.roll(rates, (shift, shift), axis=(0, 1))
        constants.append(float(lemmas.slow_constant(jnp.asarray(np.arctanh(np.log(moved) / 7)), 1e6)))
    chain = Kernel(np.eye(3) + 0.004 * (rates * (1 - np.eye(3)) - np.diag((rates * (1 - np.eye(3))).sum(axis=1))))
    exact = lemmas.scaled_variances(chain, (30000,))[0]
    np.testing.assert_allclose(sorted(constants), sorted(exact), rtol=0.02)
    assert max(constants) > 0.69  # ½ is not enough


def test_covariance_sides_are_one_number_of_enumerated_sequences():
    kernel = drawn(Dirichlet(2, 2), 1)[0]
    f = np.array([0.3, -1.0, 2.0, 0.7])
    both = mean = 0.0
    for word, weight in oracles.words(kernel, 4):
        first, last = 2 * word[0] + word[1], 2 * word[2] + word[3]
        both, mean = both + weight * f[first] * f[last], mean + weight * f[first]
    left, right = lemmas.covariance_sides(kernel, f, 2)
    assert left == pytest.approx(both - mean**2, abs=1e-12)
    assert right == pytest.approx(left, abs=1e-12)


@pytest.mark.slow
def test_a_prior_of_assumption_one_lies_below_the_printed_gap():
    """Two common symbols, four rare ones, and the row of one of these tilted: in NumPy, for γ = 0.2 and S = 6."""
    gamma, size = 0.2, 6
    low = gamma / size * (1 + 1e-6)
    common = (1 - 4 * low) / 2
    kernel = np.tile([common, common, low, low, low, low], (size, 1))
    tilt = 1.05 * gamma / np.sqrt(2 * size)
    kernel[5, :2] += [tilt, -tilt]
    mu = np.linalg.matrix_power(kernel, 64)[0]
    # the four parts of Assumption 1 for all renamings of the symbols, equally likely
    assert kernel.min() > gamma / size
    assert np.square(kernel - mu).sum() >= gamma**2 / size
    assert np.trace(kernel) == pytest.approx(1)  # the mean over renamings is then 1/S everywhere
    scores = [(kernel / mu * mu[:, None] * np.linalg.matrix_power(kernel, j)).sum() - 1 for j in range(8)]
    gap = scores[1] - max(scores[0], *scores[2:], 0.0)
    assert gamma**3 / size**2 < gap < 0.85 * gamma**3 / (2 * size)
    lead, mixing = lemmas.previous_token_lead(jnp.asarray(kernel))
    assert float(lead) == pytest.approx(gap, rel=1e-9)
    assert float(mixing) == pytest.approx(np.square(kernel - mu).sum(), rel=1e-9)
