"""The largest order at which each construction is exact in measurements, by dtype, next to its certified order.

Measuring all of them takes long, so the results are recorded in `exact_orders.json` beside this file by
`python -m benchmarks.exact_orders --write`; tests repeat some of the measurements. Exact means an error of at most
1e-5, or of four units of roundoff in dtypes that cannot resolve 1e-5.
"""

from __future__ import annotations

import dataclasses
import functools
import json
from collections.abc import Iterator, Mapping
from pathlib import Path

from anyorder.constructions import verify
from anyorder.constructions.certificate import unit_roundoff
from anyorder.constructions.construction import Construction, OptionValue
from anyorder.constructions.hard_sequences import hard_sequences
from anyorder.constructions.registry import CONSTRUCTIONS, LARGEST_ORDER, find, plan
from anyorder.io.numerics import DTYPES

PATH = Path(__file__).with_name("exact_orders.json")
TOLERANCE = 1e-5
ALPHABET_SIZES = (2, 4)
#: Most orders for a search that tries all of them from the first.
STEPWISE = 32


@dataclasses.dataclass(frozen=True)
class ExactOrder:
    """Orders up to `exact` have errors of at most 1e-5, up to `resolved` of at most max(1e-5, 4u).

    u is the unit roundoff: 16-bit types cannot resolve 1e-5, so `resolved` applies to them. Zero means that order 1
    fails; an order equal to `tried` is a lower bound. `length` is that of the sequences.
    """

    exact: int
    resolved: int
    tried: int
    length: int


def resolution(dtype: str) -> float:
    """The largest error that counts as exact: 1e-5 or four units of roundoff, whichever is larger.

    >>> resolution("float32"), resolution("bfloat16")
    (1e-05, 0.015625)
    """
    return max(TOLERANCE, 4 * unit_roundoff(dtype))


def measure(name: str, dtype: str, *, length: int | None = None, **options: OptionValue) -> ExactOrder:
    """Build increasing orders by force until one is not exact; with H heads every H-th order.

    The search starts at order 1 or, with more than `STEPWISE` orders, at the certified one: with margin 1 an order
    either works or fails, and the benchmark tests lower orders separately.
    """
    entry, heads = find(name), int(options.get("heads", 1))
    length, tried = length or entry.measured_length, min(entry.last_order * heads, LARGEST_ORDER)

    @functools.cache
    def worst(turn: int) -> float:
        return max(worst_error(name, turn * heads, size, length, dtype, **options) for size in ALPHABET_SIZES)

    def last(tolerance: float) -> int:
        turns = tried // heads
        start = certified(name, dtype, **options) // heads if turns > STEPWISE else 1
        turn = start if worst(1) <= tolerance else 0
        while turn and worst(turn) > tolerance:
            turn -= 1
        while turn and turn < turns and worst(turn + 1) <= tolerance:
            turn += 1
        return heads * turn

    return ExactOrder(last(TOLERANCE), last(resolution(dtype)), tried, length)


def worst_error(name: str, order: int, alphabet_size: int, length: int, dtype: str, **options: OptionValue) -> float:
    """The largest error on four hard sequences, one of each kind."""
    made = plan(name, order=order, alphabet_size=alphabet_size, length=length, dtype=dtype, **options)
    batch = hard_sequences(count=4, length=length, alphabet_size=alphabet_size, order=order, seed=order)
    return verify.worst_over(made.build(force=True), [batch], order, made.beta)[0]


@functools.cache
def measured() -> dict[str, dict[str, ExactOrder]]:
    """The recorded orders, by construction (with its options where they are not the default) and dtype.

    >>> measured()["dyadic"]["float32"].exact >= 10
    True
    """
    table = json.loads(PATH.read_text(encoding="utf-8"))
    return {name: {dtype: ExactOrder(**found) for dtype, found in row.items()} for name, row in table.items()}


def label(entry: Construction, options: Mapping[str, OptionValue]) -> str:
    """The label of a row of the table.

    >>> label(find("unrolled"), {"heads": 2})
    'unrolled, 2 heads'
    """
    return ", ".join([entry.name, *(f"{value} {name}" for name, value in options.items())])


def certified(name: str, dtype: str, **options: OptionValue) -> int:
    """The largest order, up to the last one tried, that can be built without force; 0 if there is none.

    >>> certified("dyadic", "float32"), certified("unrolled", "float32", heads=2)
    (10, 44)
    """
    entry, heads = find(name), int(options.get("heads", 1))
    last = 0
    for order in range(heads, min(entry.last_order * heads, LARGEST_ORDER) + 1, heads):
        made = plan(name, order=order, alphabet_size=2, length=entry.measured_length, dtype=dtype, **options)
        if made.certificate is None or made.shortcoming is not None:
            break
        last = order
    return last


@dataclasses.dataclass(frozen=True)
class PrecisionRow:
    """One line of the precision table: by dtype the measured order (None: not measured) and the certified one."""

    label: str
    construction: str
    measured: dict[str, ExactOrder | None]
    certified: dict[str, int]

    @property
    def resolved(self) -> dict[str, int | None]:
        """By dtype the largest order that is exact in measurements; None if not measured."""
        return {dtype: None if found is None else found.resolved for dtype, found in self.measured.items()}

    def cells(self) -> list[str]:
        """`11 (10)`: measured exact to order 11, certified to order 10; `≥ 16` where no end was found.

        >>> next(row for row in precision_table() if row.label == "dyadic").cells()
        ['3 (2)', '4 (3)', '11 (10)', '26 (24)']
        """

        def cell(dtype: str) -> str:
            found, trusted = self.measured[dtype], self.certified[dtype]
            if found is None:
                return f"– ({trusted})"
            return f"{'≥ ' * (found.resolved == found.tried > 1)}{found.resolved} ({trusted})"

        return [cell(dtype) for dtype in DTYPES]


#: Legend of the precision table: the measured orders, and the rest.
MEASURED = (
    "Largest order measured exact on hard sequences of 1,024 tokens (64 where matrices grow with the length): an error "
    "of at most 1e-5, or four units of roundoff in 16 bits."
)
LEGEND = (
    f"{MEASURED} In brackets the largest certified order. "
    "≥ marks the last order tried, – a value that was not measured."
)


def precision_table() -> Iterator[PrecisionRow]:
    """The table shown by the command, the docs and the experiments: every construction with a certificate."""
    for entry in CONSTRUCTIONS.values():
        for options in ({}, *entry.variants) if entry.analyse is not None else ():
            name = label(entry, options)
            yield PrecisionRow(
                name,
                entry.name,
                {dtype: measured().get(name, {}).get(dtype) for dtype in DTYPES},
                {dtype: certified(entry.name, dtype, **options) for dtype in DTYPES},
            )
