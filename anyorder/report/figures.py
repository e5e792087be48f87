"""The figures of experiments and of `anyorder order`, drawn from data alone, with one function for each kind."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from matplotlib.artist import Artist
from matplotlib.axes import Axes
from matplotlib.cm import ScalarMappable
from matplotlib.colors import LogNorm, Normalize
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator

from anyorder.errors import InputError
from anyorder.estimators.order_scores import OrderReport
from anyorder.papers import figure_data as figures
from anyorder.papers.figure_data import MARKS, AttentionMap, Chart, Heat, MapGrid, Plot, Series
from anyorder.report.style import BLUES, COLOURS, DIVERGING, Drawing, apart, letters, logarithmic, styled

#: Panels in a row of small multiples.
ACROSS = 4
#: Largest width of a row of heat maps in inches; wider rows are wrapped.
WIDEST = 16
#: Width of a row of a legend in inches; three rows fit into the height of a plot, further ones make it higher.
ROW = 0.17
#: Most tokens that are written along the axes of an attention map.
LABELLED = 40
#: On axes with more tokens than the first number, only every n-th is written, n being the second.
DENSE, SPARSE = 16, 4
#: Orders whose posterior never reaches this are omitted from the figure of `anyorder order`.
VISIBLE = 0.2


def draw(figure: figures.Figure) -> Figure:
    """Draw a figure."""
    match figure:
        case Plot():
            return _plot(figure)
        case MapGrid(grid=grid):
            return draw_maps(grid)
        case Heat():
            return draw_heat(figure)
        case _:
            raise InputError(
                f"the figure {figure.caption!r} is a {type(figure).__name__}, must be a Plot, MapGrid or Heat"
            )


@styled
def _plot(plot: Plot) -> Figure:
    count, across = len(plot.charts), min(plot.across, len(plot.charts))
    down = -(-count // across)
    picture = Drawing(figsize=(plot.width * across + 0.2, plot.height * down))
    panels = picture.subplots(down, across, squeeze=False, sharex=plot.across == 1, sharey=plot.shared).ravel()
    for panel in panels[count:]:
        panel.set_visible(False)
    panels = panels[:count]
    named: dict[str, Artist] = {}
    for panel, chart in zip(panels, plot.charts, strict=True):
        _chart(panel, chart)
        named |= {label: handle for handle, label in zip(*panel.get_legend_handles_labels(), strict=True)}
    highest = [1.08 * panel.dataLim.y1 for panel in panels]  # air above a curve that is flat
    for panel, chart, own in zip(panels, plot.charts, highest, strict=True):
        if chart.from_zero:  # last: afterwards, panels that share an axis would not rescale
            panel.set_ylim(0, chart.top or max(highest) if plot.shared else chart.top or own)
    for place, panel in enumerate(panels):
        if plot.shared and place % across:
            panel.set_ylabel("")
        if plot.across == 1 and place < count - 1:
            panel.set_xlabel("")
    if named:
        columns = max(1, int(picture.get_figwidth() / (0.5 + 0.07 * max(map(len, named)))))
        picture.set_figheight(picture.get_figheight() + ROW * max(0, -(-len(named) // columns) - 3))
        picture.legend(named.values(), named, loc="outside lower center", ncols=columns, fontsize="small")
    return picture


def _chart(panel: Axes, chart: Chart) -> None:
    logarithmic(panel, chart.log)
    plain = [place for place, series in enumerate(chart.series) if series.style == "-"]
    marked = [place for place, series in enumerate(chart.series) if any(mark in series.style for mark in MARKS)]
    for place, series in enumerate(chart.series):
        marks: dict[str, Any] = {}
        if place in marked:  # a curve under others has larger marks, visible around theirs
            marks = {"markersize": 4 + 3 * (len(marked) - 1 - marked.index(place)) / len(marked)}
        elif place in plain and len(plain) > 1 and not marked:
            marks = apart(plain.index(place), len(plain), len(series.x))
        _series(panel, series, marks)
    if chart.ticks is not None:
        many = len(chart.ticks) > 8
        look: dict[str, Any] = {"rotation": 45, "ha": "right", "fontsize": "small"} if many else {}
        panel.set_xticks(list(chart.ticks.values()), list(chart.ticks), **look)
        panel.minorticks_off()
    elif all(float(x).is_integer() for series in chart.series for x in series.x) and "x" not in chart.log:
        wide = max((x for series in chart.series for x in series.x), default=0) >= 10_000  # five digits and more
        panel.xaxis.set_major_locator(MaxNLocator(4 if wide else "auto", integer=True, steps=[1, 2, 4, 5, 10]))
    if chart.mark is not None:
        panel.axvline(chart.mark, color="0.8", linewidth=1.0, zorder=0)
    panel.set(xlabel=chart.x, ylabel=chart.y, title=chart.title)


def _series(panel: Axes, series: Series, marks: dict[str, Any]) -> None:
    colour = series.colour
    colour = COLOURS[colour % len(COLOURS)] if isinstance(colour, int) else colour
    style: dict[str, Any] = {} if colour is None else {"color": colour}
    error = None if series.error is None else np.asarray(series.error, np.float64)
    marked = any(mark in series.style for mark in MARKS)
    bars = error if marked else None
    style |= {"markersize": 4, **marks}
    panel.errorbar(series.x, series.y, bars, fmt=series.style, linewidth=1.0, label=series.label, **style)
    style = {} if colour is None else {"color": colour}
    if error is not None and not marked:
        middle = np.asarray(series.y, np.float64)
        panel.fill_between(series.x, middle - error, middle + error, alpha=0.2, linewidth=0, **style)


@styled
def draw_maps(grid: Sequence[Sequence[AttentionMap]]) -> Figure:
    """Rows of attention maps with a common colour bar; differences, which may be negative, have no bar."""
    down, across = len(grid), max(map(len, grid))
    figure = Drawing(figsize=(2.6 * across + 0.6, 2.75 * down + 0.2))
    axes = figure.subplots(down, across, squeeze=False)
    for row, panels in zip(axes, grid, strict=True):
        for place in row[len(panels) :]:
            place.set_visible(False)
        for place, panel in zip(row, panels, strict=False):
            colours = (-1, DIVERGING) if np.min(panel.values) < 0 else (0, BLUES)
            place.imshow(panel.values, vmin=colours[0], vmax=1, cmap=colours[1], interpolation="nearest")
            place.set_title(panel.title)
            _name_tokens(place, panel)
        row[0].set_ylabel("query")
    for place in axes[-1]:
        place.set_xlabel("key")
    image = ScalarMappable(Normalize(0, 1), BLUES)
    figure.colorbar(image, ax=axes, shrink=0.8 if down == 1 else 0.5, label="attention")
    return figure


def _name_tokens(place: Axes, panel: AttentionMap) -> None:
    """Tokens on both axes where there is room for them."""
    place.spines[["right", "top"]].set_visible(True)
    if panel.tokens is None or len(panel.tokens) > LABELLED:
        return
    named = letters(panel.tokens.tolist()) if panel.names is None else list(panel.names)
    names = ["⊢"] * (len(panel.values) - len(panel.tokens)) + named
    every = 1 if len(names) <= DENSE else SPARSE
    for axis in (place.xaxis, place.yaxis):
        axis.set_ticks(range(0, len(names), every), names[::every], fontsize=8)
        axis.set_tick_params(length=0 if every == 1 else 2)


@styled
def draw_heat(heat: Heat) -> Figure:
    """Heat maps side by side on one scale, with a number in every cell; cells without a number are grey."""
    (down, rows), (across, columns), fraction, less = heat.down, heat.across, heat.fraction, heat.less
    width, height = 0.62 * len(columns) + 0.7, 0.42 * len(rows) + 0.8
    wide = min(len(heat.maps), ACROSS, max(1, int(WIDEST / width)))
    high = -(-len(heat.maps) // wide)
    figure = Drawing(figsize=(max(width * wide + 1.1, 3.2), max(height * high, 2.0)))
    panels = figure.subplots(high, wide, squeeze=False, sharex=True, sharey=True)
    norm = _norm(np.concatenate([values[np.isfinite(values)] for values in heat.maps.values()]), fraction)
    colours = "viridis_r" if less else "viridis"
    for panel, (title, values) in zip(panels.flat, heat.maps.items(), strict=False):
        panel.set_facecolor("0.85")
        image = panel.imshow(values, norm=norm, cmap=colours, aspect="auto", interpolation="nearest")
        for place, value in np.ndenumerate(values):
            if np.isfinite(value):
                text = f"{value:.2f}" if fraction else f"{value:.2g}"
                colour = "white" if (norm(value) < 0.5) != less else "black"
                panel.text(place[1], place[0], text, ha="center", va="center", fontsize="x-small", color=colour)
        panel.set_title(title)
        panel.set_xticks(range(len(columns)), columns)
        panel.set_yticks(range(len(rows)), rows)
        panel.spines[["right", "top"]].set_visible(True)
    for panel in panels.flat[len(heat.maps) :]:
        panel.set_visible(False)
    for panel in panels[-1]:
        panel.set_xlabel(across.replace("_", " "))
    for row in panels:
        row[0].set_ylabel(down.replace("_", " "))
    bar = figure.colorbar(image, ax=panels, label=heat.label)
    if isinstance(norm, LogNorm):
        logarithmic(bar.ax, "y")
    return figure


def _norm(known: np.ndarray, fraction: bool) -> Normalize:
    if fraction:
        return Normalize(0, 1)
    if len(known) and known.min() > 0 and known.max() / known.min() > 20:
        return LogNorm(known.min(), known.max())
    return Normalize(*((known.min(), known.max()) if len(known) else (0, 1)))


@styled
def draw_orders(growth: Sequence[OrderReport], others: Mapping[str, float] | None = None) -> Figure:
    """Draw reports on a growing sequence, the whole one last; `others` are bits per symbol for comparison."""
    whole = growth[-1]
    figure = Drawing(figsize=(8, 3.2))
    left, right = figure.subplots(1, 2)
    bits = [one.bits_per_symbol for one in whole.orders]
    left.plot([one.order for one in whole.orders], bits, "o-", color="black")
    left.plot(whole.selected, bits[whole.selected], "o", color="black", markersize=10, mfc="none")
    lines = {"mixture": whole.mixture_bits_per_symbol, "ctw": whole.ctw_bits_per_symbol, **(others or {})}
    for number, (name, level) in enumerate(lines.items()):
        left.axhline(level, color=COLOURS[number % len(COLOURS)], linewidth=1, label=name)
    left.set(xlabel="order", ylabel="bits per symbol")
    left.xaxis.set_major_locator(MaxNLocator(integer=True))
    left.legend()
    for order in range(whole.max_order + 1):
        posterior = [report.orders[order].posterior for report in growth]
        if max(posterior) > VISIBLE:
            places = [report.positions for report in growth]
            look = {"color": COLOURS[order % len(COLOURS)], **apart(order, whole.max_order + 1, len(places))}
            right.plot(places, posterior, label=f"order {order}", **look)
    logarithmic(right, "x", base=10)
    right.set(xlabel="symbols coded", ylabel="posterior")
    right.legend()
    return figure
