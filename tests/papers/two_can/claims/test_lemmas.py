"""The lemmas as measurements: each measured side against enumeration."""

from __future__ import annotations

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
    assert found.max() < 0.5
