"""The figure of a sweep: curves for one axis, a heat map for two, small multiples for three, marginals beyond."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from anyorder.papers.figure_data import Heat
from anyorder.report.figures import ACROSS, draw_heat
from anyorder.report.style import COLOURS, FLOOR, Drawing, logarithmic, styled
from anyorder.sweeps.analysis import cells, grid, spread
from anyorder.sweeps.spec import METRICS, Sweep
from anyorder.sweeps.table import SweepRow


@styled
def draw(sweep: Sweep, rows: Sequence[SweepRow]) -> Figure:
    """The figure that fits the axes with more than one value."""
    axes = [axis for axis, values in sweep.axes.items() if len(values) > 1] or list(sweep.axes)[:1]
    if len(axes) == 1:
        return _curve(sweep, rows, axes[0])
    if len(axes) <= 3:
        return _maps(sweep, rows, axes)
    return _marginals(sweep, rows, axes)


def tick(value: object) -> str:
    """A value as the label of a tick.

    >>> tick(0.001), tick([1, 2]), tick("adamw")
    ('0.001', '1 2', 'adamw')
    """
    if isinstance(value, float):
        return f"{value:g}"
    return " ".join(map(str, value)) if isinstance(value, list) else str(value)


def _place(panel: Axes, values: Sequence[object]) -> np.ndarray:
    """Positions of the values on an axis: numbers to scale, logarithmic if their range is wide."""
    numbers = [value for value in values if isinstance(value, int | float) and not isinstance(value, bool)]
    if len(numbers) < max(len(values), 2):
        panel.set_xticks(range(len(values)), [tick(value) for value in values])
        return np.arange(len(values))
    if min(numbers) > 0 and max(numbers) / min(numbers) > 5:
        panel.set_xscale("log")
        panel.minorticks_off()
    panel.set_xticks(numbers, [tick(value) for value in numbers])
    return np.asarray(numbers, np.float64)


def _spread(panel: Axes, sweep: Sweep, rows: Sequence[SweepRow], axis: str) -> None:
    """Every run as a point, the mean of each value with the standard deviation, a cross where runs have no metric."""
    values = list(sweep.axes[axis])
    places = _place(panel, values)
    along = [[cell for cell in cells(sweep, rows) if cell.values[axis] == value] for value in values]
    means, deviations, across = [], [], []
    for place, found in zip(places, along, strict=True):
        numbers = [number for cell in found for number in cell.metric]
        failed = sum(cell.failed for cell in found)
        panel.plot([place] * len(numbers), numbers, "o", color=COLOURS[0], markersize=3, alpha=0.4)
        over = spread(numbers)
        if over.mean is not None:
            across.append(place)
            means.append(over.mean)
            deviations.append(over.std or 0.0)
        if failed:
            panel.annotate(
                f"{failed} ×", (place, 0.98), xycoords=("data", "axes fraction"), ha="center", va="top",
                color=COLOURS[1], fontsize="small",
            )  # fmt: skip
    panel.errorbar(across, means, deviations, fmt="-", marker="_", color=COLOURS[0], linewidth=1.0, capsize=2)
    positive = min((value for cell in cells(sweep, rows) for value in cell.metric), default=0) > 0
    if sweep.metric in ("gap", "distance") and positive:
        logarithmic(panel, "y")
    if sweep.metric == "gap":
        panel.axhline(0, **FLOOR)
    if sweep.metric == "excess":
        for row in rows:
            if row.ended.floor_excess is not None:
                panel.axhline(row.ended.floor_excess, **FLOOR | {"linewidth": 0.5})
    panel.set_xlabel(axis.replace("_", " "))


def _curve(sweep: Sweep, rows: Sequence[SweepRow], axis: str) -> Figure:
    figure = Drawing(figsize=(5.0, 3.2))
    panel = figure.subplots()
    _spread(panel, sweep, rows, axis)
    panel.set_ylabel(METRICS[sweep.metric].label)
    panel.set_title(f"{sweep.name}: {len(sweep.seeds)} seeds; × diverged or failed", fontsize="small")
    return figure


def _marginals(sweep: Sweep, rows: Sequence[SweepRow], axes: list[str]) -> Figure:
    """For more than three axes: each axis by itself, over all values of the others."""
    down = -(-len(axes) // ACROSS)
    figure = Drawing(figsize=(2.6 * ACROSS, 2.5 * down + 0.3))
    panels = figure.subplots(down, ACROSS, sharey=True, squeeze=False)
    for panel, axis in zip(panels.flat, axes, strict=False):
        _spread(panel, sweep, rows, axis)
    for panel in panels.flat[len(axes) :]:
        panel.set_visible(False)
    for row in panels:
        row[0].set_ylabel(METRICS[sweep.metric].label)
    title = f"{sweep.name}: {len(rows)} runs, each axis over all values of the others; × diverged or failed"
    figure.suptitle(title, fontsize="small")
    return figure


def _maps(sweep: Sweep, rows: Sequence[SweepRow], axes: list[str]) -> Figure:
    """Heat maps over the last two axes, one map for each value of a third axis."""
    outer = sweep.axes[axes[0]] if len(axes) == 3 else (None,)
    maps = {}
    for value in outer:
        title = sweep.name if value is None else f"{axes[0].replace('_', ' ')} {tick(value)}"
        part = [row for row in rows if value is None or row.values[axes[0]] == value]
        maps[title] = grid(sweep, part, axes[-2], axes[-1])
    down, across = ((axis, [tick(value) for value in sweep.axes[axis]]) for axis in axes[-2:])
    label, less = METRICS[sweep.metric]
    return draw_heat(Heat("", maps, down, across, label, fraction=sweep.metric == "success", less=less))
