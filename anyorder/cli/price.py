"""`anyorder price`."""

from __future__ import annotations

from typing import Annotated

from rich.console import Group

from anyorder.cli.command import Command, Outcome, facts, table
from anyorder.io.gates import FIGURES, Dtype, Gate

_NUMBERS = ("d", "parameters", "state", "needs", "pays")
LEGEND = """\
state: bits kept while T tokens are streamed   needs: certified mantissa bits
pays: the quantity named above the table, with its lower bound; docs/price.md
states the assumptions of each bound, in particular of Theorem 2 on mantissas
parameters: by the paper's rules, with T key positions in every attention head
"""


class PriceCommand(Command):
    """Compare the cost of every construction with the lower bound for its kind of model, without building it.

    Examples:
      anyorder price --order 3 --alphabet-size 2 --length 1024
      anyorder price --order 3 --alphabet-size 4 --length 4096 --dtype float32 --figure price.svg
      anyorder price --order 8 --alphabet-size 26 --length 100000 --json
    """

    next = "anyorder verify unrolled --order {order} --alphabet-size {alphabet_size}"
    order: int
    """Order k."""
    alphabet_size: int = 2
    """Number of symbols S."""
    length: int = 1024
    """Sequence length T."""
    dtype: Dtype = "float64"
    """Floating-point type of weights and activations."""
    figure: Annotated[str | None, Gate("write", FIGURES)] = None
    """Plot the price against the order and against the length: .png, .svg or .pdf."""

    def run(self) -> Outcome:
        """Evaluate the formulas and the bounds, draw."""
        from anyorder.constructions.price import prices

        asked = {"order": self.order, "alphabet_size": self.alphabet_size, "length": self.length}
        found = prices(dtype=self.dtype, **asked)
        if self.figure is not None:
            from anyorder.papers.own.price import chart
            from anyorder.report.figures import draw
            from anyorder.report.style import write_figure

            write_figure(draw(chart(dtype=self.dtype, **asked)), self.figure)
        groups: dict[tuple[str | None, int | None], list[tuple[object, ...]]] = {}
        for one in found:
            numbers = one.dimension, one.parameters, one.state_bits, one.bits_needed, one.pays
            heads = ", ".join(f"{count:,}" for count in one.heads)
            row = (one.construction, one.layers, heads, *map(_short, numbers))
            groups.setdefault((one.unit, one.least), []).append(row)
        columns = {"construction": "<", "layers": "", "heads": "<", **dict.fromkeys(_NUMBERS, "")}
        tables = [
            table(columns, rows, "no lower bound" if unit is None else f"{unit}: at least {_short(least)}")
            for (unit, least), rows in groups.items()
        ]
        report = {**asked, **facts(self, "dtype"), "prices": found, **({"figure": self.figure} if self.figure else {})}
        drawn = [f"figure: {self.figure}"] if self.figure else []
        return Outcome(report, Group(*tables, LEGEND, *drawn))


def _short(number: int | None) -> str | None:
    """A count as short text.

    >>> _short(12345), _short(102_786_045), _short(512**129), _short(None)
    ('12,345', '1.03e8', '≈ 10^349', None)
    """
    if number is None:
        return None
    digits = len(str(number)) - 1
    if digits < 6:
        return f"{number:,}"
    return f"{number / 10**digits:.3g}e{digits}" if digits < 12 else f"≈ 10^{digits}"
