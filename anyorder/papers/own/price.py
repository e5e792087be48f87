"""The price of an order as a figure: cost of certified models over k and over T, and lower bounds."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Sequence

from anyorder.constructions.price import price
from anyorder.constructions.registry import LARGEST_ORDER
from anyorder.papers.experiment import Result, Table
from anyorder.papers.figure_data import MARKS, Chart, Plot, Series

#: One construction for each kind of model whose price is counted in bits.
SHOWN = ("one-layer", "recurrent", "unrolled")
#: The figure goes at least to this order and to this power of two of the length.
ORDERS, DOUBLINGS = 8, 14


@dataclasses.dataclass(frozen=True)
class PriceLine:
    """The price of one construction, and the lower bound for models of its kind."""

    name: str
    unit: str
    pays: list[float]
    least: list[float]


@dataclasses.dataclass(frozen=True)
class PricePanel:
    """The price of an order over the order or over the length."""

    title: str
    x: str
    places: list[float]
    lines: list[PriceLine]


def panels(*, order: int, alphabet_size: int, length: int, dtype: str = "float64") -> list[PricePanel]:
    """Bits over the order at one length, and over the length at one order.

    >>> [panel.x for panel in panels(order=2, alphabet_size=2, length=64)]
    ['order k', 'length T']
    """
    asked = {"order": order, "alphabet_size": alphabet_size, "length": length}

    def panel(axis: str, places: Sequence[int], x: str, title: str) -> PricePanel:
        lines = []
        for name in SHOWN:
            found = [price(name, dtype=dtype, **asked | {axis: place}) for place in places]
            paid, least = [_drawn(one.pays) for one in found], [_drawn(one.least) for one in found]
            lines.append(PriceLine(name, str(found[0].unit), paid, least))
        return PricePanel(title, x, list(map(float, places)), lines)

    orders = range(1, min(max(order, ORDERS), length - 1, LARGEST_ORDER) + 1)
    first, last = (2 * order + 2).bit_length(), max(DOUBLINGS, (length - 1).bit_length() if length < 1 << 59 else 59)
    lengths = [1 << power for power in range(first, last + 1)]
    return [panel("order", orders, "order k", f"T = {length}"), panel("length", lengths, "length T", f"k = {order}")]


def chart(*, order: int, alphabet_size: int, length: int, dtype: str = "float64") -> Plot:
    """The panels as a figure."""
    charts = []
    found = panels(order=order, alphabet_size=alphabet_size, length=length, dtype=dtype)
    for panel, log in zip(found, ("y", "xy"), strict=True):
        lines = []
        for colour, line in enumerate(panel.lines):
            label, mark = f"{line.name}: {line.unit}", MARKS[colour]
            lines.append(Series(label, panel.places, line.pays, style=f"{mark}-", colour=colour))
            lines.append(Series(f"{line.name}, at least", panel.places, line.least, style=f"{mark}:", colour=colour))
        charts.append(Chart(panel.x, "bits", lines, panel.title, log))
    caption = (
        f"Solid: cost of certified models, {alphabet_size} symbols, {dtype}. Dotted: lower bound for any model of that "
        "kind. For two layers the price is the mantissa of the numbers in layer one."
    )
    return Plot(caption, charts, width=4.0, height=4.0)


def _drawn(bits: int | None) -> float:
    """A number of bits as a point; NaN where Matplotlib's logarithmic axes would overflow.

    >>> _drawn(43), _drawn(10**400)
    (43.0, nan)
    """
    return float(bits or 0) if (bits or 0) < 10**200 else math.nan


def priced(*, order: int, alphabet_size: int, length: int, dtype: str = "float64") -> Result:
    """The price of one construction of each kind, and the figure.

    >>> [row["pays"] for row in priced(order=2, alphabet_size=2, length=64).tables["price"].rows]
    [16640, 1536, 4, 3]
    """
    asked = {"order": order, "alphabet_size": alphabet_size, "length": length}
    found = [price(name, dtype=dtype, **asked) for name in (*SHOWN, "convolution")]
    rows = [
        {
            "construction": one.construction,
            "layers": one.layers,
            "parameters": one.parameters,
            "pays": one.pays,
            "at least": one.least,
            "of": one.unit,
        }
        for one in found
    ]
    caption = f"Order {order}, {alphabet_size} symbols, T = {length}, {dtype}"
    return Result({"price": Table(caption, rows)}, {"price": chart(dtype=dtype, **asked)})
