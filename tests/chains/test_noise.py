"""Both kinds of noise, and the truth under them."""

import numpy as np
import scipy.stats

from anyorder import chains
from anyorder.chains import PointMass, TokenNoise, TransitionNoise
from tests.chains.small import KERNEL, KEY, transition_counts


def test_token_noise_replaces_by_a_different_token_uniformly():
    drawn = chains.sample(PointMass(KERNEL), length=40, count=4000, noise=TokenNoise(0.3), seed=KEY)
    changed = np.asarray(drawn.tokens != drawn.clean)
    assert abs(changed.mean() - 0.3) < 0.005
    shifts = np.asarray((drawn.tokens - drawn.clean) % 3)[changed]
    assert scipy.stats.chisquare(np.bincount(shifts, minlength=3)[1:]).pvalue > 1e-3
    counts = transition_counts(drawn.clean, 2, 3)  # the chain underneath is the clean one
    np.testing.assert_allclose(counts / counts.sum(axis=-1, keepdims=True), KERNEL.probabilities, atol=0.02)


def test_truth_under_token_noise_is_the_distribution_of_the_observed_token():
    drawn = chains.sample(PointMass(KERNEL), length=30, count=8000, noise=TokenNoise(0.4), seed=KEY)
    expected = np.asarray(drawn.truth).sum(axis=(0, 1))
    observed = np.bincount(np.asarray(drawn.tokens).ravel(), minlength=3)
    assert abs(expected.sum() - observed.sum()) < 1e-6 * expected.sum()
    np.testing.assert_allclose(observed / observed.sum(), expected / expected.sum(), atol=0.004)


def test_transition_noise_mixes_in_a_fresh_row_at_every_step():
    drawn = chains.sample(PointMass(KERNEL), length=40, count=3000, noise=TransitionNoise(0.5), seed=KEY)
    counts = transition_counts(drawn.tokens, 2, 3)
    mixed = 0.5 * KERNEL.probabilities + 0.5 / 3  # E[P_r] is uniform
    expected = counts.sum(axis=-1, keepdims=True) * mixed
    assert scipy.stats.chi2.sf(((counts - expected) ** 2 / expected).sum(), df=18) > 1e-3
    # The remainder of each truth, (truth - (1 - α)P_d)/α, is a point of the simplex, different at every step.
    tokens = np.asarray(drawn.tokens)
    rows = KERNEL.probabilities[tokens[:, :-2], tokens[:, 1:-1]]
    fresh = (np.asarray(drawn.truth)[:, 2:] - 0.5 * rows) / 0.5
    assert fresh.min() >= -1e-12
    np.testing.assert_allclose(fresh.sum(axis=-1), 1, atol=1e-9)
    assert len(np.unique(fresh[..., 0].round(12))) == fresh[..., 0].size
    assert abs(fresh[..., 0].var() - 1 / 18) < 0.002  # Dirichlet(1, 1, 1): variance 1/18
