"""Bayes under transition noise, by quadrature, against other ways to integrate."""

import numpy as np
import pytest
import scipy.integrate

from anyorder import estimators
from tests import oracles


@pytest.mark.parametrize("size", [2, 3, 4])
def test_noise_free_quadrature_is_add_one(size):
    tokens = np.random.default_rng(size).integers(0, size, 14)
    exact = estimators.add_beta(tokens, order=1, alphabet_size=size).probabilities
    quadrature = estimators.bayes_under_transition_noise(tokens, order=1, alphabet_size=size, strength=0.0)
    np.testing.assert_allclose(quadrature.probabilities, exact, rtol=1e-10)


@pytest.mark.parametrize("strength", [0.1, 0.5, 0.9])
def test_binary_quadrature_equals_adaptive_integration(strength):
    tokens = [0, 1, 1, 0, 1, 0, 0, 1, 0, 1, 0]
    got = estimators.bayes_under_transition_noise(tokens, order=1, alphabet_size=2, strength=strength)
    counts = oracles.followers(tokens, len(tokens) - 1, 1)

    def likelihood(p, power):
        zero = (1 - strength) * p + strength / 2
        return zero ** (counts[0] + power) * (1 - zero) ** counts[1]

    expected = (
        scipy.integrate.quad(likelihood, 0, 1, args=(1,))[0] / scipy.integrate.quad(likelihood, 0, 1, args=(0,))[0]
    )
    assert abs(got.probabilities[-1, 0] - expected) < 1e-12


def test_ternary_quadrature_equals_monte_carlo():
    tokens = [0, 1, 2, 0, 2, 0, 1, 0]
    got = estimators.bayes_under_transition_noise(tokens, order=1, alphabet_size=3, strength=0.3)
    counts = oracles.followers(tokens, len(tokens) - 1, 1)
    rows = 0.7 * np.random.default_rng(0).dirichlet(np.ones(3), size=400_000) + 0.1
    weights = np.prod([rows[:, s] ** counts[s] for s in range(3)], axis=0)
    expected = weights @ rows / weights.sum()
    np.testing.assert_allclose(got.probabilities[-1], expected, atol=2e-3)
