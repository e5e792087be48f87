"""Instruments of entries: against plain loops, and the ascent on known hills."""

from __future__ import annotations

import jax.numpy as jnp
import numpy as np
import pytest

from anyorder.papers.two_can.claims import measures
from anyorder.papers.two_can.claims.measures import ascend


def test_the_nearest_codes_are_found_among_all_pairs():
    vectors = measures.codes(3, 3)
    units = vectors / np.linalg.norm(vectors, axis=1, keepdims=True)
    pairs = [np.linalg.norm(a - b) for i, a in enumerate(units) for b in units[:i]]
    assert measures.nearest(vectors) == pytest.approx(min(pairs), rel=1e-12)


def test_the_best_of_several_starts_is_kept():
    # two hills, of heights 1 and 2; a start climbs the nearer one
    hills = lambda x, share: jnp.exp(-((x - 3) ** 2)).sum() + 2 * jnp.exp(-((x + 3) ** 2)).sum()  # noqa: E731
    low = ascend(hills, np.array([[2.5]]), steps=300)
    both = ascend(hills, np.array([[2.5], [-2.5]]), steps=300)
    assert low.value == pytest.approx(1, abs=1e-3)
    assert both.value == pytest.approx(2, abs=1e-3)
    assert both.parameters[0] == pytest.approx(-3, abs=0.02)


def test_a_start_without_a_finite_gradient_stays_and_does_not_win():
    logarithm = lambda x, share: jnp.log(x).sum() - x.sum()  # noqa: E731
    found = ascend(logarithm, np.array([[-2.0], [0.5]]), steps=300)
    assert found.value == pytest.approx(-1, abs=1e-3)
    assert found.parameters[0] == pytest.approx(1, abs=0.02)


def test_penalties_may_sharpen_with_the_steps_and_count_in_full_at_the_end():
    within = lambda x, share: x[0] - 100 * share * jnp.maximum(x[0] - 1, 0) ** 2  # noqa: E731
    assert ascend(within, np.zeros((1, 1)), steps=600).value == pytest.approx(1, abs=0.02)
