"""Rows to cells: what the seeds of one combination of values have in common, and which combination is best."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

import numpy as np

from anyorder.sweeps.row import SweepRow
from anyorder.sweeps.spec import METRICS, Success, Sweep
from anyorder.training import config as configs
from anyorder.training import forms


class Cell(NamedTuple):
    """One combination of values: the metric of each seed that has one, and how many seeds there are and failed."""

    values: dict[str, object]
    metric: list[float]
    seeds: list[int]
    runs: int
    failed: int

    @property
    def mean(self) -> float | None:
        """Over seeds; None where no seed has the metric."""
        return float(np.mean(self.metric)) if self.metric else None

    @property
    def deviation(self) -> float | None:
        """Standard deviation over seeds; None for fewer than two."""
        return float(np.std(self.metric, ddof=1)) if len(self.metric) > 1 else None


def value(row: SweepRow, metric: str, success: Success) -> float | None:
    """The metric of a row; a run that diverged or failed has none, and is no success.

    >>> from anyorder.sweeps.row import Ended, RunMetrics
    >>> row = SweepRow(0, {}, 0, Ended("done", measured=RunMetrics(gap=0.001, attention=0.7)))
    >>> value(row, "success", Success()), value(row, "gap", Success())
    (1.0, 0.001)
    """
    if metric == "success":
        return float(near(row, success) and attends(row, success))
    return None if row.ended.measured is None else getattr(row.ended.measured, metric)


def near(row: SweepRow, success: Success) -> bool:
    """Whether the excess of a run is within the given distance of the floor."""
    measured = row.ended.measured
    return measured is not None and measured.gap is not None and measured.gap <= success.gap


def attends(row: SweepRow, success: Success) -> bool:
    """Whether attention of the last layer sits on the matching positions."""
    measured = row.ended.measured
    return measured is not None and measured.attention is not None and measured.attention >= success.attention


def cells(sweep: Sweep, rows: Iterable[SweepRow], metric: str | None = None) -> list[Cell]:
    """The rows by combination of values, in the order of the rows."""
    metric = metric or sweep.metric
    found: dict[str, Cell] = {}
    for row in rows:
        old = found.setdefault(repr(row.values), Cell(row.values, [], [], 0, 0))
        number = value(row, metric, sweep.success)
        found[repr(row.values)] = Cell(
            row.values,
            old.metric + ([] if number is None else [number]),
            old.seeds + ([] if number is None else [row.seed]),
            old.runs + 1,
            old.failed + (row.ended.outcome != "done"),
        )
    return list(found.values())


def ranking(sweep: Sweep, rows: Sequence[SweepRow]) -> list[Cell]:
    """Cells from best to worst by the mean over seeds; those with a seed that failed come after those without."""
    sign = 1 if METRICS[sweep.metric] else -1
    # Many cells succeed with every seed: then the loss decides.
    loss = {repr(cell.values): cell.mean for cell in cells(sweep, rows, "excess")}

    def key(cell: Cell) -> tuple[bool, float, float]:
        assert cell.mean is not None
        tie = loss[repr(cell.values)]
        return cell.failed > 0, sign * cell.mean, np.inf if tie is None else tie

    return sorted((cell for cell in cells(sweep, rows) if cell.mean is not None), key=key)


def command(sweep: Sweep, cell: Cell) -> str:
    """What trains the runs of a cell again, to copy; seeds that do not follow each other need one command each."""
    first, last = min(sweep.seeds), max(sweep.seeds)
    config = configs.changed(sweep.base, {**cell.values, "seed": first})
    if last - first + 1 == len(sweep.seeds):
        config = configs.changed(config, {"seeds": len(sweep.seeds)})
    return forms.command(config) + " --out best"
