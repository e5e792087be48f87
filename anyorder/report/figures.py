"""The figures of experiments, drawn from their data alone; each kind of figure in one way."""

from __future__ import annotations

from typing import Any

import matplotlib
import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator

from anyorder.experiments import figures
from anyorder.experiments.figures import MARKS, Chart, Heat, MapGrid, OverLengths, OverSteps, Plot, Series
from anyorder.report import dynamics, sweeps
from anyorder.report.maps import draw_maps
from anyorder.report.style import COLOURS, STYLE, Drawing


def draw(figure: figures.Figure) -> Figure:
    """The picture of a figure."""
    with matplotlib.rc_context(STYLE):
        match figure:
            case Plot():
                return _plot(figure)
            case MapGrid(grid=grid):
                return draw_maps(grid)
            case Heat(_, maps, down, across, label, fraction, less):
                return sweeps.draw_heat(maps, down, across, label, fraction=fraction, less=less)
            case OverSteps(trajectory=trajectory):
                return dynamics.draw_run(trajectory)
            case OverLengths(sweep=sweep):
                return dynamics.draw_sweep(sweep)


def _plot(plot: Plot) -> Figure:
    across = len(plot.charts)
    picture = Drawing(figsize=(plot.width * across + 0.2, plot.height))
    panels = picture.subplots(1, across, squeeze=False, sharey=plot.shared)[0]
    for panel, chart in zip(panels, plot.charts, strict=True):
        _chart(panel, chart)
    for panel in panels[1:] if plot.shared else []:
        panel.set_ylabel("")
    named = {
        label: handle
        for panel in panels
        for handle, label in zip(*panel.get_legend_handles_labels(), strict=True)
    }  # fmt: skip
    if named:
        columns = max(1, int(picture.get_figwidth() / (0.5 + 0.07 * max(map(len, named)))))
        picture.legend(named.values(), named, loc="outside lower center", ncols=columns, fontsize="small")
    return picture


def _chart(panel: Axes, chart: Chart) -> None:
    for axis, scale in (("x", panel.set_xscale), ("y", panel.set_yscale)):
        if axis in chart.log:
            scale("log", base=2 if axis == "x" else 10)
    for series in chart.series:
        _series(panel, series)
    if chart.ticks is not None:
        angle, side = (45, "right") if len(chart.ticks) > 8 else (0, "center")
        panel.set_xticks(list(chart.ticks.values()), list(chart.ticks), rotation=angle, ha=side)
        panel.minorticks_off()
    elif all(float(x).is_integer() for series in chart.series for x in series.x) and "x" not in chart.log:
        panel.xaxis.set_major_locator(MaxNLocator(integer=True))
    if chart.from_zero:
        panel.set_ylim(0, chart.top)
    panel.set(xlabel=chart.x, ylabel=chart.y, title=chart.title)


def _series(panel: Axes, series: Series) -> None:
    colour = series.colour
    colour = COLOURS[colour % len(COLOURS)] if isinstance(colour, int) else colour
    style: dict[str, Any] = {} if colour is None else {"color": colour}
    error = None if series.error is None else np.asarray(series.error, np.float64)
    marked = any(mark in series.style for mark in MARKS)
    bars = error if marked else None
    panel.errorbar(series.x, series.y, bars, fmt=series.style, markersize=4, linewidth=1.0, label=series.label, **style)
    if error is not None and not marked:
        middle = np.asarray(series.y, np.float64)
        panel.fill_between(series.x, middle - error, middle + error, alpha=0.2, linewidth=0, **style)
