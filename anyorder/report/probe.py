"""The figure and the page of a probe: heads by order, spectra of the best heads, controls. Its text: probe.html."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape
from pathlib import Path

import numpy as np
from matplotlib.axes import Axes
from matplotlib.colors import BoundaryNorm, ListedColormap
from matplotlib.figure import Figure

from anyorder.io.atomic import write_json
from anyorder.papers.experiment import Table, TableRow
from anyorder.probing import as_json
from anyorder.probing.result import Probed, ProbedHead
from anyorder.report.page import as_figure, following, worded, write_page
from anyorder.report.style import BLUES, COLOURS, Drawing, styled, write_figure
from anyorder.report.tables import as_table

COUNTED = "(layers and heads count from 0, as in code)"
FIGURE = (
    f"Left: every head, coloured by its order {COUNTED}. Middle: attention to keys by the number of tokens that agree "
    "(the match length), relative to uniform attention. Right: controls."
)
#: Number of spectra in the figure.
BEST = 6


@styled
def draw_probe(result: Probed) -> Figure:
    """Layers × heads by order; spectra with standard errors; distractor, permuted windows and recency of each."""
    figure = Drawing(figsize=(11, 4.2))
    grid, curves, beside = figure.subplots(1, 3, width_ratios=(1.2, 1.5, 1.2))
    _grid(grid, result)
    best = result.strongest[:BEST]
    _spectra(curves, result, best)
    _controls(beside, result, best)
    figure.suptitle(f"{result.model} {COUNTED}")
    return figure


def _grid(axes: Axes, result: Probed) -> None:
    longest = result.max_length
    layers = sorted({head.layer for head in result.heads})
    orders = np.full((len(layers), max(head.head for head in result.heads) + 1), np.nan)
    for head in result.heads:
        length = head.found.order or (round(head.mean_length) if head.found.graded else 0)
        orders[layers.index(head.layer), head.head] = min(length, longest)
    colours = ListedColormap(["#E8E8E8", *BLUES(np.linspace(0.25, 1.0, longest))])
    norm = BoundaryNorm(np.arange(longest + 2) - 0.5, colours.N)
    image = axes.imshow(orders, cmap=colours, norm=norm, aspect="equal", origin="lower")
    axes.set(xlabel="head", ylabel="layer", title="order, or mean length if graded")
    axes.set_xticks(range(orders.shape[1]))
    shown = range(0, len(layers), max(1, len(layers) // 10))
    axes.set_yticks(list(shown), [str(layers[place]) for place in shown])
    bar = axes.figure.colorbar(image, ax=axes, ticks=range(longest + 1))
    bar.ax.set_yticklabels(["none", *map(str, range(1, longest)), f"≥ {longest}"])


def _spectra(axes: Axes, result: Probed, best: list[ProbedHead]) -> None:
    lengths = np.arange(result.max_length + 1)
    axes.axhline(1.0, color="grey", linewidth=0.8, linestyle="--")
    for head, colour in zip(best, COLOURS, strict=False):
        label = f"L{head.layer} H{head.head}, {head.in_words}"
        axes.errorbar(lengths, head.spectrum, yerr=head.spectrum_error, color=colour, label=label, capsize=2)
    median = np.nanmedian([head.spectrum for head in result.heads], axis=0)
    axes.plot(lengths, median, color="grey", label=f"median of {len(result.heads)} heads")
    title = "spectra of the best heads" if best else "no head has an order"
    axes.set(xlabel="match length ℓ: tokens that agree", ylabel="attention (uniform is 1)", title=title)
    axes.set_xticks(lengths)
    axes.set_ylim(0, max(2.0, axes.get_ylim()[1]))  # so that noise around 1 looks like noise
    axes.legend(fontsize="small")


def _controls(axes: Axes, result: Probed, best: list[ProbedHead]) -> None:
    names = {"distractor": "shares k - 1", "permuted": "permuted window", "prefix_matching": "prefix matching"}
    places = np.arange(len(best))
    for number, (name, label) in enumerate(names.items()):
        values = [head.scores.get(name, np.nan) for head in best]
        axes.barh(places + (number - 1) * 0.25, values, height=0.22, label=label, color=COLOURS[number])
        for place in np.flatnonzero(np.isnan(np.asarray(values, np.float64))):
            axes.text(0, place + (number - 1) * 0.25, f" {label}: not measured", va="center", fontsize="x-small")
    axes.set_yticks(places, [f"L{head.layer} H{head.head}" for head in best])
    placebo = result.controls.no_repeat
    said = "no-repeat control: none, the vocabulary\nis smaller than the sequence"
    if placebo is not None:
        said = f"no-repeat control: {placebo.heads_above} of {placebo.heads} heads\nabove their threshold"
    axes.set(title="controls", xlabel=said)
    if not best:
        axes.set(xticks=[], yticks=[])
        axes.spines[:].set_visible(False)
    else:
        axes.set_ylim(len(best) + 0.6, -0.6)  # room for the legend below the bars
        axes.legend(fontsize="small", loc="lower right")


def write_probe(folder: Path, result: Probed, rows: list[TableRow], notes: list[str], next_step: str) -> Path:
    """Write the result as JSON, its figure and its page; `rows` and `notes` are those of the terminal."""
    write_json(folder / "probe.json", as_json(result, maps=True))
    write_figure(draw_probe(result), folder / "probe.png")
    shown = [
        {name: _bars(cell, row) if isinstance(cell, tuple) else cell for name, cell in row.items()} for row in rows
    ]
    caption = f"{result.in_words}. Bars: attention with one offset flipped, or agreeing alone, next to all agree."
    table = as_table(Table(caption, shown)) if rows else ""
    text = "".join(f"<p>{escape(note[0].upper() + note[1:])}.</p>" for note in notes)
    lead, sections = worded(
        "probe.html", {"table": table, "notes": text, "figure": as_figure(folder / "probe.png", FIGURE)}
    )
    last = following({next_step: "the grid of heads and the attention maps of each, in a browser"})
    return write_page(folder, f"Which order has each head? {result.model}", lead, [*sections, last])


def _bars(values: Sequence[float], row: TableRow) -> str:
    """Numbers as bars separated by thin spaces, of full height at the attention if all offsets agree.

    >>> _bars([0.0, 4.0, 8.0], {"all agree": "8.0"})
    '▁ ▅ █'
    """
    top = max(float(str(row["all agree"])), *values) or 1.0
    return "\u2009".join("▁▂▃▄▅▆▇█"[min(7, int(8 * max(value, 0.0) / top))] for value in values)
