"""When a head is born."""

import numpy as np
import pytest

from anyorder.papers.own.birth import born, has_stage, interval


def test_a_step_that_never_comes_has_no_date():
    steps = np.array([0.0, 100.0, 200.0])
    spectrum = np.array([[1, 1, 1], [0.5, 1.5, 1.5], [0.2, 2.0, 2.1]])
    assert born(steps, spectrum, 1) == 100
    assert born(steps, spectrum, 2) is None


def test_a_stage_is_long_near_and_nearer_than_every_other_order():
    to_floor = np.array([0.2, 0.1, 0.0])
    far = np.full((40, 3), 0.5)

    def waiting(times, distance):
        walk = far.copy()
        walk[10 : 10 + times, 1] = distance
        return walk

    assert has_stage(waiting(3, 0.02), to_floor, 1)
    assert not has_stage(waiting(2, 0.02), to_floor, 1)  # too short
    assert not has_stage(waiting(3, 0.03), to_floor, 1)  # farther than a quarter of 0.1
    nearer = waiting(3, 0.02)
    nearer[11, 2] = 0.01  # the whole order is nearer in the middle
    assert not has_stage(nearer, to_floor, 1)
    slow = np.repeat(waiting(3, 0.02), 3, axis=0)
    slow[36:, 1] = 0.5  # six of 120 measurements, a twentieth
    assert has_stage(slow, to_floor, 1)
    slow[35, 1] = 0.5
    assert not has_stage(slow, to_floor, 1)


@pytest.mark.parametrize(("hits", "count"), [(0, 8), (5, 8), (8, 8)])
def test_the_interval_holds_the_shares_that_a_score_test_keeps(hits, count):
    low, high = interval(hits, count)
    for share in np.linspace(0.001, 0.999, 999):
        kept = abs(hits / count - share) <= 1.959964 * np.sqrt(share * (1 - share) / count)
        assert kept == (low <= share <= high)
