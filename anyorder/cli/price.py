"""`anyorder price`."""

from __future__ import annotations

import dataclasses
from typing import Annotated

from rich.console import Group

from anyorder.cli.command import Command, Outcome, facts, table
from anyorder.io.dtypes import Dtype
from anyorder.io.gates import FIGURES, Gate

LEGEND = """\
state: numbers kept while T tokens are streamed, in bits    needs: mantissa bits of the certificate
pays: what a lower bound speaks of, and the least that any model of this kind must have (docs/price.md)
"""


@dataclasses.dataclass(frozen=True, kw_only=True)
class PriceCommand(Command):
    """Print what every construction costs, next to the least that models of its kind must have; nothing is built.

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
    """Tokens in the sequence, T."""
    dtype: Dtype = "float64"
    """Type of all numbers."""
    figure: Annotated[str | None, Gate("write", FIGURES)] = None
    """Draw the price over the order and over the length: .png, .svg or .pdf."""

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
        rows = []
        for one in found:
            numbers = one.dimension, one.parameters, one.state_bits, one.bits_needed, one.pays, one.least
            heads = ", ".join(f"{count:,}" for count in one.heads)
            rows.append((one.construction, one.layers, heads, *map(_short, numbers), one.unit))
        columns = {"construction": "<", "layers": "", "heads": "<"}
        columns |= dict.fromkeys(("d", "parameters", "state", "needs", "pays", "at least"), "")
        report = {**asked, **facts(self, "dtype"), "prices": found, **({"figure": self.figure} if self.figure else {})}
        return Outcome(report, Group(table(columns | {"of": "<"}, rows), LEGEND))


def _short(number: int | None) -> str | None:
    """A count for a person.

    >>> _short(12345), _short(512**129), _short(None)
    ('12,345', '≈ 10^349', None)
    """
    if number is None:
        return None
    return f"{number:,}" if number < 10**12 else f"≈ 10^{len(str(number)) - 1}"
