"""Rows to cells: what the seeds of one combination of values have in common, and which combination is best."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

import numpy as np

from anyorder.files import Row
from anyorder.sweeps.spec import METRICS, Success, Sweep
from anyorder.training import config as configs
from anyorder.training import forms
from anyorder.training.config import Config


class Cell(NamedTuple):
    """One combination of values: the metric of each seed that has one, and how many seeds there are and failed."""

    values: dict[str, Any]
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


def value(row: Row, metric: str, success: Success) -> float | None:
    """The metric of a row; a run that diverged or failed has none, and is no success.

    >>> value({"outcome": "done", "gap": 0.001, "attention": 0.7}, "success", Success())
    1.0
    """
    if metric == "success":
        return float(near(row, success) and attends(row, success))
    return row[metric] if row["outcome"] == "done" else None


def near(row: Row, success: Success) -> bool:
    """Whether the excess of a run is within the given distance of the floor."""
    return row["outcome"] == "done" and row["gap"] is not None and row["gap"] <= success.gap


def attends(row: Row, success: Success) -> bool:
    """Whether attention of the last layer sits on the matching positions."""
    return row["outcome"] == "done" and row["attention"] >= success.attention


def cells(sweep: Sweep, rows: Iterable[Row], metric: str | None = None) -> list[Cell]:
    """The rows by combination of values, in the order of the rows."""
    metric = metric or sweep.metric
    found: dict[str, Cell] = {}
    for row in rows:
        values = {axis: row[axis] for axis in sweep.axes}
        old = found.setdefault(repr(values), Cell(values, [], [], 0, 0))
        number = value(row, metric, sweep.success)
        found[repr(values)] = Cell(
            values,
            old.metric + ([] if number is None else [number]),
            old.seeds + ([] if number is None else [row["seed"]]),
            old.runs + 1,
            old.failed + (row["outcome"] != "done"),
        )
    return list(found.values())


def ranking(sweep: Sweep, rows: Sequence[Row]) -> list[Cell]:
    """Cells from best to worst by the mean over seeds; those with a seed that failed come after those without."""
    sign = 1 if METRICS[sweep.metric] else -1
    # Many cells succeed with every seed: then the loss decides.
    loss = {repr(cell.values): cell.mean for cell in cells(sweep, rows, "excess")}

    def key(cell: Cell) -> tuple[bool, float, float]:
        assert cell.mean is not None
        tie = loss[repr(cell.values)]
        return cell.failed > 0, sign * cell.mean, np.inf if tie is None else tie

    return sorted((cell for cell in cells(sweep, rows) if cell.mean is not None), key=key)


def config_of(sweep: Sweep, cell: Cell) -> Config:
    """The config of a cell, with the first of the seeds that were run."""
    return configs.changed(sweep.base, {**cell.values, "seed": sweep.seeds[0]})


def command(sweep: Sweep, cell: Cell) -> str:
    """What trains the runs of a cell again, to copy; seeds that do not follow each other need one command each."""
    first, last = min(sweep.seeds), max(sweep.seeds)
    config = configs.changed(sweep.base, {**cell.values, "seed": first})
    if last - first + 1 == len(sweep.seeds):
        config = configs.changed(config, {"seeds": len(sweep.seeds)})
    return forms.command(config) + " --out best"
