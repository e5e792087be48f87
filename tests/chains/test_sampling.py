"""The sampler against its kernel."""

import jax
import numpy as np
import pytest
import scipy.stats

from anyorder import chains
from anyorder.chains import Dirichlet, PointMass
from tests.chains.small import KERNEL, KEY, transition_counts


@pytest.mark.parametrize("start", ["uniform", "stationary"])
def test_transitions_follow_the_kernel(start):
    drawn = chains.sample(PointMass(KERNEL), length=60, count=3000, start=start, seed=KEY)
    counts = transition_counts(drawn.tokens, 2, 3)
    expected = counts.sum(axis=-1, keepdims=True) * KERNEL.probabilities
    statistic = ((counts - expected) ** 2 / expected).sum()
    assert scipy.stats.chi2.sf(statistic, df=9 * 2) > 1e-3


def test_first_tokens_are_uniform_or_stationary():
    for start, expected in (("uniform", np.full((3, 3), 1 / 9)), ("stationary", KERNEL.stationary)):
        opening = chains.sample(PointMass(KERNEL), length=5, count=40_000, start=start, seed=KEY).tokens[:, :2]
        counts = np.zeros((3, 3))
        np.add.at(counts, tuple(np.asarray(opening).T), 1)
        assert scipy.stats.chisquare(counts.ravel(), 40_000 * expected.ravel()).pvalue > 1e-3


def test_stationary_truth_of_the_opening_is_its_conditional_distribution():
    drawn = chains.sample(PointMass(KERNEL), length=5, count=50, start="stationary", seed=KEY)
    first = KERNEL.stationary.sum(axis=1)
    for tokens, truth in zip(drawn.tokens, drawn.truth, strict=True):
        np.testing.assert_allclose(truth[0], first, atol=1e-12)
        np.testing.assert_allclose(truth[1], KERNEL.stationary[tokens[0]] / first[tokens[0]], atol=1e-12)


def test_truth_is_the_row_of_the_context():
    drawn = chains.sample(Dirichlet(2, 3), length=12, count=4, seed=KEY)
    np.testing.assert_allclose(drawn.truth[:, :2], 1 / 3, rtol=1e-12)
    for kernel, tokens, truth in zip(drawn.kernels, drawn.tokens, drawn.truth, strict=True):
        for t in range(2, 12):
            np.testing.assert_array_equal(truth[t], kernel[tokens[t - 2], tokens[t - 1]])


@pytest.mark.parametrize("count", [1, 4, 5])
def test_tokens_are_those_of_a_walk_by_hand(count):
    """With uniform numbers from the public generator, token by token in plain Python."""
    length, order, size = 30, 2, 3
    drawn = chains.sample(Dirichlet(order, size), length=length, count=count, seed=KEY)
    _, step_key, _ = jax.random.split(KEY, 3)
    even = count + count % 2
    words = np.asarray(jax.random.bits(step_key, (length * even // 2,), np.uint64)).view(np.uint32)
    uniforms = (words >> 8).reshape(length, even) / 2**24
    for i in range(count):
        past = ()
        for t in range(length):
            row = np.asarray(drawn.kernels)[i][past[-order:]] if t >= order else np.full(size, 1 / size)
            past += (int(np.searchsorted(np.cumsum(row)[:-1], uniforms[t, i], side="right")),)
        assert tuple(drawn.tokens[i].tolist()) == past
