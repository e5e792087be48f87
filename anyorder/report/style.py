"""One style for all figures, and one way to write them."""

from __future__ import annotations

import io
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import matplotlib
from cycler import cycler
from matplotlib.axes import Axes
from matplotlib.colors import LinearSegmentedColormap
from matplotlib.figure import Figure
from matplotlib.ticker import LogFormatterMathtext

from anyorder.io.atomic import whole_file
from anyorder.papers.figure_data import MARKS

#: Okabe and Ito's colours, which colour-blind readers can distinguish.
COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000")
#: Attention from 0 to 1, and differences of attention from -1 to 1, in the colours of the explorer.
BLUES = LinearSegmentedColormap.from_list("blues", ["#FFFFFF", "#56B4E9", "#0072B2", "#06293F"])
DIVERGING = LinearSegmentedColormap.from_list("diverging", ["#0072B2", "#FFFFFF", "#D55E00"])
#: Line style of the Bayes floor.
FLOOR: Any = {"color": "black", "linestyle": "--", "linewidth": 1.0, "label": "Bayes floor"}
_STYLE: Any = {
    "axes.prop_cycle": cycler(color=COLOURS),
    "axes.spines.right": False,
    "axes.spines.top": False,
    "axes.titlesize": "medium",
    "figure.constrained_layout.use": True,
    "font.size": 9.0,
    "legend.frameon": False,
}
#: Decorator of functions that draw a figure.
styled = matplotlib.rc_context(_STYLE)


def apart(number: int, count: int, points: int) -> dict[str, Any]:
    """Marker settings that distinguish overlapping curves: few markers, at different places for each curve number.

    >>> apart(1, 2, 24)
    {'marker': 's', 'markevery': (3, 6), 'markersize': 4}
    """
    every = max(count, points // 4)
    return {"marker": MARKS[number % len(MARKS)], "markevery": (number * every // count, every), "markersize": 4}


class Plain(LogFormatterMathtext):
    """Labels of a logarithmic axis: plain numbers such as 0.02 and 64, or powers if some number is longer."""

    def __call__(self, x: float, pos: int | None = None) -> str:
        """The label of a tick; empty if there would be too many labels."""
        label = super().__call__(x, pos)
        low, high = sorted(self.axis.get_view_interval())  # type: ignore[union-attr]
        return f"{x:g}" if label and low >= 1e-5 and high < 2e5 else label


def logarithmic(axes: Axes, which: str, base: int | None = None) -> None:
    """Make axes logarithmic with readable labels: x by default with powers of two, y with powers of ten."""
    for name in which:
        own = base or (2 if name == "x" else 10)
        getattr(axes, f"set_{name}scale")("log", base=own)
        axis = getattr(axes, f"{name}axis")
        axis.set_major_formatter(Plain(own))
        axis.set_minor_formatter(Plain(own, minor_thresholds=(1.5, 0.5)))


def letters(tokens: Iterable[int]) -> list[str]:
    """Names of tokens in text and figures: a, b, c, …, or numbers if there are more than 26.

    >>> letters([0, 2, 1]), letters([0, 30])
    (['a', 'c', 'b'], ['0', '30'])
    """
    found = list(tokens)
    named = max(found, default=0) < 26
    return [chr(ord("a") + token) if named else str(token) for token in found]


class Drawing(Figure):
    """A figure without a window, to be written to a file or shown by a notebook."""

    def _repr_png_(self) -> bytes:
        stream = io.BytesIO()
        self.savefig(stream, format="png")
        return stream.getvalue()


def write_figure(figure: Figure, path: str | Path) -> None:
    """Write a figure atomically, in the format of the file's suffix."""
    # Equal figures give equal bytes: no date, and deterministic ids of parts.
    with whole_file(path) as temporary, matplotlib.rc_context({"svg.hashsalt": "anyorder"}):
        figure.savefig(temporary, metadata={"Date": None} if str(path).endswith(".svg") else None)
