"""Rows to cells."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest

from anyorder.sweeps import analysis
from anyorder.sweeps.spec import Success
from tests.sweeps.small import made


def test_success_needs_both_the_floor_and_the_attention():
    grid, rows = made({"order": [1, 2]}, metric="success")
    near = Success(gap=0.0021, attention=0.45)
    grid = dataclasses.replace(grid, success=near)
    # Seeds 1 and 2 attend; of order 1 seed 1 diverged; of order 2 (gaps .0020, .0021, .0022) seeds 0 and 1 are near.
    assert [cell.metric for cell in analysis.cells(grid, rows)] == [[0.0, 0.0, 1.0], [0.0, 1.0, 0.0]]


@pytest.mark.parametrize(("hits", "count"), [(0, 8), (5, 8), (8, 8)])
def test_wilsons_interval_holds_the_shares_that_a_score_test_keeps(hits, count):
    low, high = analysis.wilson(hits, count)
    for share in np.linspace(0.001, 0.999, 999):
        kept = abs(hits / count - share) <= 1.959964 * np.sqrt(share * (1 - share) / count)
        assert kept == (low <= share <= high)
