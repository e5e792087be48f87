"""The price of an order as a figure: cost of certified models over k and over T, and lower bounds."""

from __future__ import annotations

import math
from collections.abc import Iterable

from anyorder.constructions.price import price
from anyorder.constructions.registry import LARGEST_ORDER
from anyorder.papers.experiment import Result, Table
from anyorder.papers.figure_data import MARKS, Chart, Plot, Series

#: One construction for each kind of model whose price is counted in bits.
SHOWN = ("one-layer", "recurrent", "unrolled")
#: The figure goes at least to this order and to this power of two of the length.
ORDERS, DOUBLINGS = 8, 14


def chart(*, order: int, alphabet_size: int, length: int, dtype: str = "float64") -> Plot:
    """Bits over the order at one length, and over the length at one order.

    >>> [panel.x for panel in chart(order=2, alphabet_size=2, length=64).charts]
    ['order k', 'length T']
    """

    def panel(axis: str, places: Iterable[int], log: str, title: str) -> Chart:
        lines, across = [], list(places)
        for colour, name in enumerate(SHOWN):
            asked = {"order": order, "alphabet_size": alphabet_size, "length": length}
            found = [price(name, dtype=dtype, **asked | {axis: place}) for place in across]
            label = f"{name}: {found[0].unit}"
            paid, least = [_drawn(one.pays) for one in found], [_drawn(one.least) for one in found]
            lines.append(Series(label, across, paid, style=MARKS[colour] + "-", colour=colour))
            lines.append(Series(f"{name}, at least", across, least, style=MARKS[colour] + ":", colour=colour))
        return Chart(f"{axis} {'k' if axis == 'order' else 'T'}", "bits", lines, title, log)

    orders = range(1, min(max(order, ORDERS), length - 1, LARGEST_ORDER) + 1)
    first, last = (2 * order + 2).bit_length(), max(DOUBLINGS, (length - 1).bit_length() if length < 1 << 59 else 59)
    return Plot(
        f"Solid: cost of certified models, {alphabet_size} symbols, {dtype}. Dotted: lower bound for any model of that "
        "kind. For two layers the price is the mantissa of the numbers in layer one.",
        [
            panel("order", orders, "y", f"T = {length}"),
            panel("length", (1 << power for power in range(first, last + 1)), "xy", f"k = {order}"),
        ],
        width=4.0,
        height=4.0,
    )


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
