"""Attention maps on a grid: one colour scale, tokens on the axes where there is room for them."""

from __future__ import annotations

from collections.abc import Sequence

import matplotlib
from matplotlib.axes import Axes

from anyorder.experiments.figures import AttentionMap
from anyorder.report.style import STYLE, Drawing

#: Tokens are written along the axes up to this many.
LABELLED = 40


def draw_maps(grid: Sequence[Sequence[AttentionMap]], size: float = 2.6) -> Drawing:
    """Rows of panels, with one bar for the colours of all."""
    down, across = len(grid), max(map(len, grid))
    with matplotlib.rc_context(STYLE):
        figure = Drawing(figsize=(size * across + 0.6, (size + 0.15) * down + 0.2))
        axes = figure.subplots(down, across, squeeze=False)
        image = None
        for row, panels in zip(axes, grid, strict=True):
            for place in row[len(panels) :]:
                place.set_visible(False)
            for place, panel in zip(row, panels, strict=False):
                image = place.imshow(panel.values, vmin=0, vmax=1, cmap="viridis", interpolation="nearest")
                place.set_title(panel.title)
                _label(place, panel)
            row[0].set_ylabel("query")
        for place in axes[-1]:
            place.set_xlabel("key")
        assert image is not None
        figure.colorbar(image, ax=axes, shrink=0.8 if down == 1 else 0.5, label="attention")
        return figure


def _label(place: Axes, panel: AttentionMap) -> None:
    place.spines[["right", "top"]].set_visible(True)
    if panel.tokens is None or len(panel.tokens) > LABELLED:
        return
    names = ["·"] * (len(panel.values) - len(panel.tokens)) + [str(token) for token in panel.tokens]
    for axis in (place.xaxis, place.yaxis):
        axis.set_ticks(range(len(names)), names, fontsize=5)
        axis.set_tick_params(length=0)
