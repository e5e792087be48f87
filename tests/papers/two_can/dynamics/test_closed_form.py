"""g_{i,j} and the gradient of stage one against enumeration and the printed sums; the fit of power laws."""

from __future__ import annotations

import functools

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from anyorder import chains
from anyorder.chains import Dirichlet
from anyorder.papers.two_can import dynamics
from tests import oracles_dynamics as oracles

KEY = jax.random.key(11)


@functools.cache
def kernel(order, size, seed=0):
    return np.asarray(Dirichlet(order, size).draw(jax.random.key(seed)))


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
