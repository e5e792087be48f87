"""The bits that an order requires: the largest exact order by dtype, and the bits needed at each order."""

from __future__ import annotations

import math

import equinox as eqx
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Int

from anyorder.constructions import construct
from anyorder.constructions.exact_orders import MEASURED, PrecisionRow, measure, precision_table
from anyorder.constructions.hard_sequences import hard_sequences
from anyorder.constructions.verify import expected
from anyorder.io.atomic import Row
from anyorder.io.numerics import DTYPES, mantissa_bits
from anyorder.models import Transformer
from anyorder.models.quantised import rounded, to_mantissa
from anyorder.papers.experiment import Result, Table, Task, experiment
from anyorder.papers.figure_data import MARKS, Chart, Plot, exact_orders, grouped, placed, series

#: These are measured in arithmetic of any number of bits. The others rely on the rounding of the number type that they
#: are built for, so their bits are read off the orders that real number types reach.
ROUNDED = ("two-layer", "three-layer", "k-head")
BITS = {name: mantissa_bits(dtype) for name, dtype in DTYPES.items()}
#: Orders and lengths of the measured bits, by budget.
GRID: dict[str, tuple[tuple[int, ...], tuple[int, ...]]] = {
    "tiny": ((1, 2), (32,)),
    "quick": ((1, 2, 3, 4, 5), (32, 128)),
    "paper": ((1, 2, 3, 4, 5, 6, 7), (32, 128, 512)),
}


@eqx.filter_jit
def _predict(model: Transformer, tokens: Int[Array, "length"], bits: Int[Array, ""]) -> Float[Array, "length symbols"]:
    weights, frame = eqx.partition(model, eqx.is_array)

    def predict(weights: Transformer, tokens: Int[Array, "length"]) -> Float[Array, "length symbols"]:
        return eqx.combine(weights, frame)(tokens)

    return rounded(predict, to_mantissa(bits))(weights, tokens)


def bits_needed(name: str, order: int, length: int) -> int | None:
    """The fewest significant bits, of weights and of every intermediate number, at which all errors are at most 1/T.

    None if 52 bits are not enough. The errors are not monotone in the bits; they must stay within 1/T at every
    larger number of bits.
    """
    target = 1 / length
    model = construct(name, order=order, alphabet_size=2, length=length, target_error=target / 2, force=True)
    batch = hard_sequences(count=4, length=length, alphabet_size=2, order=order, seed=order)
    exact = [expected(model, row, order) for row in batch]
    needed = None
    for bits in range(52, 2, -1):
        for row, want in zip(batch, exact, strict=True):
            found = np.asarray(_predict(model, jnp.asarray(row, jnp.int32), jnp.int32(bits)), np.float64)
            if not np.nanmax(np.abs(found - want), initial=0.0) <= target:
                return needed
        needed = bits
    return needed


@experiment(
    "What an order costs in bits",
    "Sec. 1 and App. H.4, on bits per parameter",
    {"tiny": 0.5, "quick": 0.4, "paper": 8},
    paper="log T + k bits per parameter, up to a constant factor, give an additive error of 1/T.",
    reading="Every weight and every intermediate number is rounded to b significant bits, operation by operation, and "
    "b is lowered until an error exceeds 1/T.",
)
def precision(task: Task) -> Result:
    """Measure the bits over orders and lengths; orders by dtype are recorded, and two of them are measured again."""
    orders, lengths = GRID[task.budget]
    rounded_ones = ROUNDED if task.budget != "tiny" else ("two-layer", "k-head")
    cells = [(name, order, length) for name in rounded_ones for length in lengths for order in orders]
    bits: list[Row] = []
    for part, (name, order, length) in task.parts(cells):
        part.watch(0.0, f"{name}, order {order}, T = {length}")
        about = {"construction": name, "order": order, "length": length}
        bits.append(about | {"bits": bits_needed(name, order, length), "log2_T_plus_k": math.log2(length) + order})
    growth = []
    for name, own in grouped(bits, "construction").items():
        across, up = np.array([(row["order"], row["bits"]) for row in own if row["bits"]], np.float64).T
        slope = float(np.polyfit(across, up, 1)[0]) if len(set(across)) > 1 else None
        growth.append({"construction": name, "bits_per_order": slope, "from": "rounded arithmetic"})
    table = list(precision_table())
    for row in table:
        narrow, wide = row.measured["float32"], row.measured["float64"]
        if row.construction in ROUNDED or not narrow or not wide or wide.resolved in (narrow.resolved, wide.tried):
            continue
        slope = (BITS["float64"] - BITS["float32"]) / (wide.resolved - narrow.resolved)
        growth.append({"construction": row.label, "bits_per_order": slope, "from": "float32 and float64"})
    kept = [
        {"construction": row.label}
        | row.resolved
        | {f"{dtype} certified": order for dtype, order in row.certified.items()}
        for row in table
    ]
    again = [
        {"construction": name, "dtype": "float32", "exact": measure(name, "float32", length=128).exact, "length": 128}
        for name in ("two-layer", "attention-only")
    ]
    return Result(
        {
            "orders": Table(
                f"{MEASURED} Next to it the largest order that the certificate promises.",
                kept,
            ),
            "again": Table("Two of them measured again, on 128 tokens.", again),
            "bits": Table("Significant bits of every number for errors of at most 1/T, next to log2 T + k.", bits),
            "growth": Table("Bits for one order more, by least squares.", growth),
        },
        {"precision": chart(bits, kept), "law": law(table)},
        settings={"alphabet": 2, "sequences": "4 hard ones each"},
    )


def law(table: list[PrecisionRow]) -> Plot:
    """Largest exact order over mantissa bits: a point for every number type, and the certified lines."""
    points = [
        {"label": row.label, "bits": BITS[dtype], "measured": order, "proven": row.certified[dtype]}
        for row in table
        if row.certified["float64"] > 1
        for dtype, order in row.resolved.items()
    ]
    caption = "Largest exact order over mantissa bits: measured points, and the lines that the certificates prove."
    return exact_orders(caption, points, "bits", "mantissa bits p")


def chart(bits: list[Row], kept: list[Row]) -> Plot:
    """Measured bits against the order, and the largest exact orders by number type."""
    needed, first = [], bits[0]
    for index, (name, own) in enumerate(grouped(bits, "construction").items()):
        for line, (length, at) in zip(("-", "--", ":"), grouped(own, "length").items(), strict=False):
            needed.append(series(f"{name}, T = {length}", at, "order", "bits", None, MARKS[index] + line, index))
    bound = [row for row in bits if (row["construction"], row["length"]) == (first["construction"], first["length"])]
    needed.append(series(f"log2 T + k, T = {first['length']}", bound, "order", "log2_T_plus_k", None, "-", "0.5"))
    general = [row for row in kept if row["float64 certified"] > 1]
    shown, names = placed(general, lambda row: row["construction"])
    exact = [series(dtype, shown, "place", dtype, style=mark) for dtype, mark in zip(DTYPES, MARKS, strict=False)]
    charts = [
        Chart("order k", "significant bits for error ≤ 1/T", needed),
        Chart("construction", "largest exact order, measured", exact, ticks=names),
    ]
    caption = "Left: significant bits that an order needs. Right: the largest exact order by construction and dtype."
    return Plot(caption, charts, width=4.4, height=4.4)
