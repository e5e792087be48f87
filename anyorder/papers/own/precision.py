"""The price of an order: the required bits, the largest exact orders, and the parts of each construction."""

from __future__ import annotations

import math
from collections.abc import Callable

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jax.extend.core import ClosedJaxpr, Jaxpr, Literal, Var
from jax.typing import ArrayLike
from jaxtyping import Array, Float, Int

from anyorder.constructions import CONSTRUCTIONS, construct
from anyorder.constructions.exact_orders import MEASURED, PrecisionRow, label, measure, precision_table
from anyorder.constructions.hard_sequences import hard_sequences
from anyorder.constructions.parameters import count_arrays
from anyorder.constructions.verify import expected
from anyorder.io.atomic import Row
from anyorder.io.numerics import DTYPES, mantissa_bits
from anyorder.models import Transformer
from anyorder.papers.experiment import Result, Table, Task, experiment
from anyorder.papers.figure_data import MARKS, Chart, Plot, Series, each, exact_orders, grouped, placed, series

Rounding = Callable[[Array], Array]

#: These are measured in arithmetic with any number of bits. The others rely on the rounding of the dtype for which they
#: are built, so their bits follow from the largest exact orders in real dtypes.
ROUNDED = ("two-layer", "three-layer", "k-head")
BITS = {name: mantissa_bits(dtype) for name, dtype in DTYPES.items()}
HELD = ("float32", "float64")
#: Order, alphabet size and length at which constructions are compared, and the orders of the comparison's figure.
ORDER, SIZE, LENGTH = 3, 2, 64
ORDERS = tuple(range(1, 13))
#: Orders and lengths of the measured bits, by budget.
GRID: dict[str, tuple[tuple[int, ...], tuple[int, ...]]] = {
    "tiny": ((1, 2), (32,)),
    "quick": ((1, 2, 3, 4, 5), (32, 128)),
    "paper": ((1, 2, 3, 4, 5, 6, 7), (32, 128, 512)),
}


@eqx.filter_jit
def _predict(model: Transformer, tokens: Int[Array, "length"], bits: Int[Array, ""]) -> Float[Array, "length symbols"]:
    """Predictions in arithmetic of this many significant bits."""
    weights, frame = eqx.partition(model, eqx.is_array)
    program = jax.make_jaxpr(lambda weights, tokens: eqx.combine(weights, frame)(tokens))(weights, tokens)
    (rows,) = rounded(program.jaxpr, program.consts, jax.tree.leaves((weights, tokens)), to_mantissa(bits))
    return jnp.asarray(rows)


def rounded(jaxpr: Jaxpr, consts: list[ArrayLike], inputs: list[ArrayLike], rounding: Rounding) -> list[ArrayLike]:
    """The outputs of a program with its inputs and the result of every operation rounded."""
    values: dict[Var, ArrayLike] = {}

    def read(place: Var | Literal) -> ArrayLike:
        return place.val if isinstance(place, Literal) else values[place]

    def round_float(value: ArrayLike) -> ArrayLike:
        return rounding(jnp.asarray(value)) if jnp.issubdtype(jnp.result_type(value), jnp.floating) else value

    values.update(zip(jaxpr.constvars, consts, strict=True))
    values.update(zip(jaxpr.invars, map(round_float, inputs), strict=True))
    for equation in jaxpr.eqns:
        operands = [read(place) for place in equation.invars]
        inner = next((part for part in equation.params.values() if isinstance(part, ClosedJaxpr)), None)
        if inner is not None:  # a call; the transformer has no loops
            results = rounded(inner.jaxpr, inner.consts, operands, rounding)
        else:
            bound = equation.primitive.bind(*operands, **equation.params)
            results = bound if equation.primitive.multiple_results else [bound]
            results = [round_float(value) for value in results]
        values.update(zip(equation.outvars, results, strict=True))
    return [read(place) for place in jaxpr.outvars]


def to_mantissa(bits: Int[Array, ""]) -> Rounding:
    """Rounding of float64 to this many significant bits, by Veltkamp's splitting; exponents keep their range.

    >>> to_mantissa(jnp.int32(3))(jnp.array([0.9, 1.3, 100.0], jnp.float64)).tolist()
    [0.875, 1.25, 96.0]
    """
    factor = jnp.exp2((53 - bits).astype(jnp.float64)) + 1

    def rounding(values: Float[Array, "*shape"]) -> Float[Array, "*shape"]:
        large = factor * values
        return jnp.where(jnp.isfinite(large), large - (large - values), values)

    return rounding


def bits_needed(name: str, order: int, length: int) -> int | None:
    """The least number of significant bits, of weights and intermediate numbers, with all errors at most 1/T.

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
        slope = round(float(np.polyfit(across, up, 1)[0]), 9) if len(set(across)) > 1 else None
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
            "orders": Table(f"{MEASURED} Next to it the largest order that the certificate promises.", kept),
            "again": Table("Two of them measured again, on 128 tokens.", again),
            "bits": Table("Significant bits of every number for errors of at most 1/T, next to log₂ T + k.", bits),
            "growth": Table("Bits for one order more, by least squares.", growth),
        },
        {"precision": _chart(bits, kept), "law": _law(table)},
        settings={"alphabet": 2, "sequences": "4 hard ones each"},
    )


def _law(table: list[PrecisionRow]) -> Plot:
    points = [
        {"label": row.label, "bits": BITS[dtype], "measured": order, "proven": row.certified[dtype]}
        for row in table
        if row.certified["float64"] > 1
        for dtype, order in row.resolved.items()
    ]
    caption = "Largest exact order over mantissa bits: measured points, and the lines that the certificates prove."
    return exact_orders(caption, points, "bits", "mantissa bits p")


def _chart(bits: list[Row], kept: list[Row]) -> Plot:
    needed, first = [], bits[0]
    for index, (name, own) in enumerate(grouped(bits, "construction").items()):
        for line, (length, at) in zip(("-", "--", ":"), grouped(own, "length").items(), strict=False):
            needed.append(series(f"{name}, T = {length}", at, "order", "bits", MARKS[index] + line, index))
    bound = [row for row in bits if (row["construction"], row["length"]) == (first["construction"], first["length"])]
    needed.append(series(f"log₂ T + k, T = {first['length']}", bound, "order", "log2_T_plus_k", "-", "0.5"))
    general = [row for row in kept if row["float64 certified"] > 1]
    shown, names = placed(general, lambda row: row["construction"])
    exact = [series(dtype, shown, "place", dtype, style=mark) for dtype, mark in zip(DTYPES, MARKS, strict=False)]
    charts = [
        Chart("order k", "significant bits for error ≤ 1/T", needed),
        Chart("construction", "largest exact order, measured", exact, ticks=names),
    ]
    caption = "Left: significant bits that an order needs. Right: the largest exact order by construction and dtype."
    return Plot(caption, charts, width=4.4, height=4.4)


@experiment(
    "Heads or bits",
    "ours",
    {"tiny": 0.1, "quick": 0.1, "paper": 0.1},
    reading="Every order has a price: one head packs k tokens into one code and needs bits, k heads keep the tokens "
    "apart and need heads and width.",
)
def head_trade_off(task: Task) -> Result:
    """One row for each exact construction of any order, and the bits that its certificate requires at each order."""
    rows: list[Row] = []
    bits: list[Row] = []
    shown = [
        name
        for name, entry in CONSTRUCTIONS.items()
        if entry.exactness == "exact" and entry.largest_order is None and entry.width is None
    ]
    table = {row.label: row for row in precision_table()}
    for part, name in task.parts(shown):
        part.watch(0.0, name)
        models = {k: construct(name, order=k, alphabet_size=SIZE, length=LENGTH, force=True) for k in ORDERS}
        needed = {k: model.certificate.bits_needed for k, model in models.items() if model.certificate is not None}
        model, exact, certified = models[ORDER], table[name].resolved, table[name].certified
        rows.append(
            {
                "construction": name,
                "source": CONSTRUCTIONS[name].source,
                "layers": len(model.layers),
                "heads": sum(len(layer.heads) for layer in model.layers),
                "mlp_layers": sum(len(layer.mlp) for layer in model.layers),
                "width": model.dimension,
                "parameters": count_arrays(model),
                "bits_certified": needed[ORDER],
                **{f"exact_{dtype}": exact[dtype] for dtype in HELD},
                **{f"certified_{dtype}": certified[dtype] for dtype in HELD},
            }
        )
        bits += [
            {"construction": name, "order": k, "bits_certified": needed[k], "parameters": count_arrays(models[k])}
            for k in ORDERS
        ]
    heads = [
        {
            "construction": entry.name,
            "heads": options.get("heads", 1),
            "dtype": dtype,
            "measured": table[label(entry, options)].resolved[dtype],
            "proven": table[label(entry, options)].certified[dtype],
        }
        for entry in CONSTRUCTIONS.values()
        if any("heads" in variant for variant in entry.variants)
        for options in ({}, *entry.variants)
        for dtype in DTYPES
    ]
    named = [row | {"label": f"{row['construction']}, {row['dtype']}"} for row in heads]
    over_heads = "Largest exact order over heads: measured points, and the lines H(p - 2); no order above 128 is built."
    return Result(
        {
            "cost": Table(
                f"At order {ORDER}, S = {SIZE}, T = {LENGTH}: parts of the model, entries of its arrays, mantissa bits "
                "that its certificate requires, and the largest orders measured exact and certified.",
                rows,
            ),
            "bits": Table("Certified bits and stored parameters by order.", bits),
            "heads": Table("The largest order of H heads: measured, and H(p - 2) as proven.", heads),
        },
        {"trade-off": _costs(bits), "heads": exact_orders(over_heads, named, "heads", "heads H", log="y")},
        settings={"order": ORDER, "alphabet_size": SIZE, "length": LENGTH},
    )


def _costs(rows: list[Row]) -> Plot:
    bits, parameters = (each(rows, "construction", "order", column) for column in ("bits_certified", "parameters"))
    ends = [ORDERS[0], ORDERS[-1]]
    bits += [Series(name, ends, [BITS[name]] * 2, style=":", colour="0.6") for name in HELD]
    charts = [
        Chart("order k", "mantissa bits, certified", bits, from_zero=True, top=80.0),
        Chart("order k", "stored parameters", parameters, log="y"),
    ]
    return Plot("One head pays for an order in bits, k heads pay in parameters.", charts, width=3.4, height=3.6)
