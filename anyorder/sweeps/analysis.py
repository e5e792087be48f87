"""Aggregate the rows of a sweep over seeds into cells, and rank the cells."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Iterable, Sequence
from typing import NamedTuple

import numpy as np
from jaxtyping import Bool, Float
from scipy.special import stdtrit

from anyorder.io import plugins
from anyorder.sweeps.spec import METRICS, Success, Sweep
from anyorder.sweeps.table import SweepRow
from anyorder.training import config as configs
from anyorder.training import config_text


class Cell(NamedTuple):
    """One combination of values: the metric by seed, its mean and deviation, the numbers of seeds and of failures."""

    values: dict[str, object]
    metric: list[float]
    mean: float | None
    deviation: float | None
    runs: int
    failed: int


@dataclasses.dataclass(frozen=True)
class Spread:
    """Mean and standard deviation over seeds, None if there are too few, and the value of each seed."""

    mean: float | None
    std: float | None
    seeds: list[float] | None = None

    @property
    def interval(self) -> tuple[float, float]:
        """The 95% interval of the mean by Student's t; infinite for fewer than two seeds.

        >>> [round(end, 2) for end in spread([1.0, 2.0, 3.0, 4.0, 5.0]).interval]
        [1.04, 4.96]
        """
        if self.mean is None or self.std is None or self.seeds is None:
            return -math.inf, math.inf
        count = len(self.seeds)
        half = float(stdtrit(count - 1, 0.975)) * self.std / math.sqrt(count)
        return self.mean - half, self.mean + half

    @property
    def with_interval(self) -> list[float | None]:
        """The mean, and the ends of its interval."""
        return [self.mean, *self.interval]


def spread(values: Sequence[float] | Float[np.ndarray, "seeds"]) -> Spread:
    """The spread of values, one for each seed.

    >>> spread([1.0, 3.0])
    Spread(mean=2.0, std=1.4142135623730951, seeds=[1.0, 3.0])
    >>> spread([1.0]).std, spread([]).mean
    (None, None)
    """
    mean = float(np.mean(values)) if len(values) else None
    std = float(np.std(values, ddof=1)) if len(values) > 1 else None
    return Spread(mean, std, [float(value) for value in values])


def wilson(hits: int, count: int) -> tuple[float, float]:
    """Wilson's 95% interval for the probability of a hit, from the hits in `count` trials.

    >>> [round(end, 2) for end in wilson(8, 8)]
    [0.68, 1.0]
    """
    from scipy.stats import binomtest  # takes a second to import

    found = binomtest(hits, count).proportion_ci(method="wilson")
    return float(found.low), float(found.high)


def longest(there: Bool[np.ndarray, "times"]) -> tuple[int, int]:
    """The longest run of True: where it begins and how long it is.

    >>> longest(np.array([True, False, True, True]))
    (2, 2)
    """
    best = begin = length = 0
    for place, now in enumerate(there):
        length = length + 1 if now else 0
        if length > best:
            best, begin = length, place - length + 1
    return begin, best


def judged(row: SweepRow, success: Success) -> tuple[bool, bool]:
    """Whether a run is near the floor, and whether the attention of its last layer is on the matching positions."""
    gap, attention = row.ended.gap, row.ended.attention
    near = gap is not None and gap <= success.gap
    return near, attention is not None and attention >= success.attention


def by_cell(rows: Iterable[SweepRow]) -> list[list[SweepRow]]:
    """The rows of each combination of values, in the order of the rows."""
    found: dict[str, list[SweepRow]] = {}
    for row in rows:
        found.setdefault(repr(row.values), []).append(row)
    return list(found.values())


def cells(sweep: Sweep, rows: Iterable[SweepRow], metric: str | None = None) -> list[Cell]:
    """The metric by combination of values, in the order of the rows.

    A run that diverged or failed has no metric, and counts as unsuccessful.
    """
    found, name = [], metric or sweep.metric
    for same in by_cell(rows):
        if name == "success":
            numbers = [float(all(judged(row, sweep.success))) for row in same]
        else:
            numbers = [number for row in same if (number := getattr(row.ended, name)) is not None]
        failed = sum(row.ended.outcome != "done" for row in same)
        over = spread(numbers)
        found.append(Cell(same[0].values, numbers, over.mean, over.std, len(same), failed))
    return found


def grid(
    sweep: Sweep, rows: Iterable[SweepRow], down: str, across: str, metric: str | None = None
) -> Float[np.ndarray, "down across"]:
    """Means of the metric by the values of two axes; NaN for combinations without one."""
    values = np.full((len(sweep.axes[down]), len(sweep.axes[across])), np.nan)
    for cell in cells(sweep, rows, metric):
        if cell.mean is not None:
            place = sweep.axes[down].index(cell.values[down]), sweep.axes[across].index(cell.values[across])
            values[place] = cell.mean
    return values


def ranking(sweep: Sweep, rows: Sequence[SweepRow]) -> list[Cell]:
    """Cells from best to worst by the mean over seeds; cells with a failed seed come last."""
    found, sign = cells(sweep, rows), 1 if METRICS[sweep.metric].less else -1
    # Many cells succeed with every seed; the loss ranks them.
    keys = [
        (cell.failed > 0, sign * cell.mean, np.inf if loss.mean is None else loss.mean, place)
        for place, (cell, loss) in enumerate(zip(found, cells(sweep, rows, "excess"), strict=True))
        if cell.mean is not None
    ]
    return [found[place] for *_, place in sorted(keys)]


def command(sweep: Sweep, cell: Cell) -> str:
    """Commands that repeat the runs of a cell; seeds that are not consecutive need one command each."""
    first, last = min(sweep.seeds), max(sweep.seeds)
    config = configs.changed(sweep.base, {**cell.values, "seed": first})
    if last - first + 1 == len(sweep.seeds):
        config = configs.changed(config, {"seeds": len(sweep.seeds)})
    return config_text.command(config) + " --out best" + plugins.flags()
