"""Rows to cells."""

from __future__ import annotations

import dataclasses

from anyorder.sweeps import analysis, spec
from anyorder.sweeps.row import Ended, SweepRow
from anyorder.sweeps.spec import Success
from anyorder.training.config import PRESETS


def made(axes, seeds=3, metric="gap"):
    """A sweep with rows that nobody trained: the gap is the sum of the places on the axes, plus a little a seed."""
    grid = spec.sweep("made", PRESETS["floor"], axes, seeds=seeds, metric=metric)
    rows = []
    for one in spec.runs(grid):
        gap = 0.001 * (1 + sum(grid.axes[name].index(value) for name, value in one.values.items())) + 1e-4 * one.seed
        numbers = {"gap": gap, "excess": 0.1 + gap, "floor_excess": 0.1, "attention": 0.4 + 0.1 * one.seed}
        measured = Ended("done", **numbers, matching_mass=0.6, distance=1.0, loss=0.5)
        ended = Ended("diverged", "…") if one.number == 1 else measured
        rows.append(SweepRow(one.number, one.values, one.seed, ended))
    return grid, rows


def test_success_needs_both_the_floor_and_the_attention():
    grid, rows = made({"order": [1, 2]}, metric="success")
    near = Success(gap=0.0021, attention=0.45)
    grid = dataclasses.replace(grid, success=near)
    # Seeds 1 and 2 attend; of order 1 seed 1 diverged; of order 2 (gaps .0020, .0021, .0022) seeds 0 and 1 are near.
    assert [cell.metric for cell in analysis.cells(grid, rows)] == [[0.0, 0.0, 1.0], [0.0, 1.0, 0.0]]
