"""Figures as data: series, charts, maps and captions. `anyorder.report` draws them."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterable, Sequence
from typing import Any, Protocol, runtime_checkable

import numpy as np
from jaxtyping import ArrayLike, Float, Int, Real

from anyorder.io.atomic import Row
from anyorder.sweeps.analysis import Spread

#: Markers that distinguish series without colour.
MARKS = "osD^vPX*"

Numbers = Sequence[float | int] | Real[np.ndarray, "points"]


@dataclasses.dataclass(frozen=True)
class Series:
    """Points and the line through them; `style` is matplotlib's, `colour` an index of the palette or a grey level."""

    label: str
    x: Numbers
    y: Numbers
    error: Numbers | None = None
    style: str = "o-"
    colour: int | str | None = None


def series(
    label: str,
    rows: Iterable[Row],
    x: str,
    y: str,
    style: str = "o-",
    colour: int | str | None = None,
    shift: float = 0.0,
) -> Series:
    """Columns of a table as a series, shifted right by `shift`; rows without a value are omitted.

    The error bar of a `Spread` is its standard deviation.

    >>> series("loss", [{"T": 8, "loss": 1}, {"T": 16, "loss": None}], "T", "loss").x
    [8.0]
    >>> series("loss", [{"T": 8, "loss": Spread(0.5, 0.1)}], "T", "loss").error
    [0.1]
    """
    places, means, errors = [], [], []
    for row in rows:
        cell = row[y]
        mean, std = (cell.mean, cell.std) if isinstance(cell, Spread) else (cell, None)
        if mean is not None:
            places.append(row[x] + shift)
            means.append(mean)
            errors.append(std or 0.0)
    return Series(label, places, means, errors if any(errors) else None, style, colour)


def level(
    label: str, ends: Sequence[float | int], height: float, style: str = ":", colour: int | str = "0.6"
) -> Series:
    """A horizontal line between two places.

    >>> level("floor", (0, 8), 0.5).y
    [0.5, 0.5]
    """
    return Series(label, list(ends), [height] * 2, None, style, colour)


@dataclasses.dataclass(frozen=True)
class Chart:
    """One panel; `log` names its logarithmic axes, `ticks` the x positions by label, `top` the end of the y axis.

    `mark` is the place of a vertical line.
    """

    x: str
    y: str
    series: list[Series]
    title: str = ""
    log: str = ""
    ticks: dict[str, float] | None = None
    from_zero: bool = False
    top: float | None = None
    mark: int | float | None = None


@dataclasses.dataclass(frozen=True)
class Plot:
    """Charts with one legend, `across` in a row, and a single column on one x axis; sizes are of one chart."""

    caption: str
    charts: list[Chart]
    width: float = 3.2
    height: float = 3.0
    shared: bool = False
    across: int = 8


@dataclasses.dataclass(frozen=True)
class AttentionMap:
    """An attention map; rows and columns in excess of the tokens come first and belong to a beginning token.

    `names` label the axes; by default tokens are a, b, c, …
    """

    title: str
    values: Float[np.ndarray, "rows rows"]
    tokens: Int[np.ndarray, "length"] | None = None
    names: Sequence[str] | None = None


@dataclasses.dataclass(frozen=True)
class MapGrid:
    """Rows of attention maps with one colour scale."""

    caption: str
    grid: Sequence[Sequence[AttentionMap]]


@dataclasses.dataclass(frozen=True)
class Heat:
    """Heat maps over two axes, by title; `fraction`: values between 0 and 1, `less`: smaller is better."""

    caption: str
    maps: dict[str, Float[np.ndarray, "down across"]]
    down: tuple[str, list[str]]
    across: tuple[str, list[str]]
    label: str
    fraction: bool = False
    less: bool = False


def grouped(rows: Iterable[Row], column: str) -> dict[Any, list[Row]]:
    """Rows grouped by their value in a column, in order of appearance.

    >>> grouped([{"a": 2}, {"a": 1}, {"a": 2}], "a")
    {2: [{'a': 2}, {'a': 2}], 1: [{'a': 1}]}
    """
    found: dict[Any, list[Row]] = {}
    for row in rows:
        found.setdefault(row[column], []).append(row)
    return found


def each(rows: Iterable[Row], by: str, x: str, y: str, label: str = "{}", style: str = "{}-") -> list[Series]:
    """A series for each value of the column `by`; `{}` stands for that value in labels, and for the marker in styles.

    >>> [line.style for line in each([{"k": 1, "T": 8, "loss": 0.5}, {"k": 2, "T": 8, "loss": 0.4}], "k", "T", "loss")]
    ['o-', 's-']
    """
    return [
        series(label.format(value), own, x, y, style.format(MARKS[number % len(MARKS)]))
        for number, (value, own) in enumerate(grouped(rows, by).items())
    ]


def placed(rows: Iterable[Row], label: Callable[[Row], str]) -> tuple[list[Row], dict[str, float]]:
    """The rows with their `place` on an axis of labels, and the ticks of that axis.

    >>> placed([{"T": 8}, {"T": 16}, {"T": 8}], lambda row: f"T = {row['T']}")[1]
    {'T = 8': 0.0, 'T = 16': 1.0}
    """
    ticks: dict[str, float] = {}
    return [row | {"place": ticks.setdefault(label(row), float(len(ticks)))} for row in rows], ticks


def exact_orders(caption: str, rows: Iterable[Row], x: str, axis: str, log: str = "") -> Plot:
    """Measured orders as points and proven orders as lines; labels with equal values share a line."""
    lines = []
    alike: dict[str, tuple[str, list[Row]]] = {}
    for label, own in grouped(rows, "label").items():
        drawn = str([(row[x], row["measured"], row["proven"]) for row in own])
        alike[drawn] = (f"{alike[drawn][0]}; {label}", own) if drawn in alike else (label, own)
    for number, (label, own) in enumerate(alike.values()):
        if len({row["proven"] for row in own}) > 1:
            lines.append(series(label, own, x, "measured", MARKS[number % len(MARKS)], number))
            lines.append(series("", own, x, "proven", "-", number))
    return Plot(caption, [Chart(axis, "order k", lines, log=log)], width=6.0, height=4.4)


def sequence_maps(title: str, maps: Iterable[ArrayLike], tokens: Iterable[ArrayLike]) -> list[AttentionMap]:
    """One attention map for each sequence."""
    return [
        AttentionMap(f"{title}, sequence {number}", np.asarray(map, np.float32), np.asarray(row))
        for number, (map, row) in enumerate(zip(maps, tokens, strict=True), start=1)
    ]


@runtime_checkable
class Figure(Protocol):
    """A figure as data: one of the classes above."""

    @property
    def caption(self) -> str:
        """The text below the figure."""
