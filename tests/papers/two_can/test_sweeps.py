"""The sweep that the paper describes."""

import json

from anyorder.papers.two_can.sweeps import PAPER_GRID as grid
from anyorder.sweeps import spec


def test_a_larger_budget_keeps_the_runs_of_a_smaller_one():
    small, large = ({run.number for run in spec.runs(grid, budget)} for budget in (52, 300))
    assert len(small) == 50  # whole cells of five seeds
    assert len(large) == 300
    assert small < large
    assert all({run // 5 * 5 + seed for seed in range(5)} <= small for run in small)
    kept = spec.runs(grid, 300)
    for axis, values in grid.axes.items():  # thinned, not cut: every value of every axis is there
        assert {json.dumps(run.values[axis]) for run in kept} == set(map(json.dumps, values))
