"""The figure of a sweep: curves for one axis, a heat map for two, small multiples for three, marginals beyond."""

from __future__ import annotations

from collections.abc import Sequence

from matplotlib.figure import Figure

from anyorder.papers.figure_data import Chart, Heat, Plot, level, series
from anyorder.report import figures
from anyorder.report.figures import ACROSS, draw_heat
from anyorder.sweeps.analysis import cells, grid, spread
from anyorder.sweeps.spec import METRICS, Sweep
from anyorder.sweeps.table import SweepRow


def draw(sweep: Sweep, rows: Sequence[SweepRow]) -> Figure:
    """The figure that fits the axes with more than one value."""
    axes = [axis for axis, values in sweep.axes.items() if len(values) > 1] or list(sweep.axes)[:1]
    if 2 <= len(axes) <= 3:
        return _maps(sweep, rows, axes)
    single = len(axes) == 1  # more than three axes: each by itself, over all values of the others
    charts = [_chart(sweep, rows, axis) for axis in axes]
    return figures.draw(Plot("", charts, 5.0 if single else 2.6, 3.2 if single else 2.5, shared=True, across=ACROSS))


def tick(value: object) -> str:
    """A value as the label of a tick.

    >>> tick(0.001), tick([1, 2]), tick("adamw")
    ('0.001', '1 2', 'adamw')
    """
    if isinstance(value, float):
        return f"{value:g}"
    return " ".join(map(str, value)) if isinstance(value, list) else str(value)


def _chart(sweep: Sweep, rows: Sequence[SweepRow], axis: str) -> Chart:
    """Every run as a point, the mean of each value with its deviation, and the number of runs without the metric.

    Values are to scale if they are numbers, logarithmic if their range is wide.
    """
    values = sweep.axes[axis]
    numbers = [value for value in values if isinstance(value, int | float) and not isinstance(value, bool)]
    places = numbers if len(numbers) == len(values) > 1 else list(range(len(values)))
    ticks: dict[str, float] = {}
    runs, means = [], []
    for place, value in zip(places, values, strict=True):
        own = [cell for cell in cells(sweep, rows) if cell.values[axis] == value]
        found, failed = [number for cell in own for number in cell.metric], sum(cell.failed for cell in own)
        ticks[tick(value) + (f"\n{failed} ×" if failed else "")] = float(place)
        runs += [{"place": place, "metric": number} for number in found]
        means.append({"place": place, "metric": spread(found)})
    positive = min((run["metric"] for run in runs), default=0) > 0
    wide = places is numbers and min(numbers) > 0 and max(numbers) / min(numbers) > 5
    log = "x" * wide + "y" * (positive and sweep.metric in ("gap", "distance"))
    known = {row.ended.floor_excess for row in rows if row.ended.floor_excess is not None}
    floors = known if sweep.metric == "excess" else {0.0} if sweep.metric == "gap" and not positive else set()
    lines = [
        series("a run; × diverged or failed", runs, "place", "metric", "o", 0),
        series("mean ± standard deviation", means, "place", "metric", "-", 0),
        *(level("Bayes floor", [min(places), max(places)], floor, "--", "black") for floor in sorted(floors)),
    ]
    return Chart(axis.replace("_", " "), METRICS[sweep.metric].label, lines, log=log, ticks=ticks)


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
