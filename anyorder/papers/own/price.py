"""The price of an order as a figure: cost of certified models over k and over T, and lower bounds."""

from __future__ import annotations

from anyorder.constructions.price import SHOWN, panels, price
from anyorder.papers.experiment import Result, Table
from anyorder.papers.figure_data import MARKS, Chart, Plot, Series


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
        f"Solid: cost of certified models, {alphabet_size} symbols, {dtype}. Dotted: lower bounds, under the "
        "assumptions in docs/price.md. For two layers the price is the mantissa of the numbers in layer one."
    )
    return Plot(caption, charts, width=4.0, height=4.0)


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
