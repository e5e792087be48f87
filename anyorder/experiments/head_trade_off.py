"""What each construction pays for exactness: layers, heads, MLP, parameters, bits."""

from __future__ import annotations

import itertools

from anyorder.constructions import CONSTRUCTIONS, construct
from anyorder.constructions.exact_orders import ExactOrder, label, precision_table
from anyorder.constructions.parameters import count_arrays
from anyorder.experiments.experiment import Experiment, Result, Table, Task
from anyorder.experiments.figures import MARKS, Chart, Plot, Series, different, series
from anyorder.files import Row
from anyorder.numerics import DTYPES

ORDER, SIZE, LENGTH = 3, 2, 64
ORDERS = tuple(range(1, 13))
#: Mantissa bits of the number types.
HELD = {"float32": 24, "float64": 53}


def run(task: Task) -> Result:
    """One row for each exact construction of any order, and the bits that its certificate asks for at each order."""
    rows, bits = [], []
    shown = [
        name
        for name, entry in CONSTRUCTIONS.items()
        if entry.exactness == "exact" and entry.largest_order is None and entry.width is None
    ]
    table = {row.label: row for row in precision_table()}
    variants = {
        label(entry, options): options
        for entry in CONSTRUCTIONS.values()
        for options in ({}, *entry.variants)
        if any("heads" in variant for variant in entry.variants)
    }
    for part, name in enumerate(shown):
        task.watch(part / len(shown), name)
        model = construct(name, order=ORDER, alphabet_size=SIZE, length=LENGTH, force=True)
        assert model.certificate is not None
        exact = table[name].measured
        rows.append(
            {
                "construction": name,
                "source": CONSTRUCTIONS[name].source,
                "layers": len(model.layers),
                "heads": sum(len(layer.heads) for layer in model.layers),
                "mlp_layers": sum(len(layer.mlp) for layer in model.layers),
                "width": model.dimension,
                "parameters": count_arrays(model),
                "bits_certified": model.certificate.bits_needed,
                "exact_float32": _order(exact["float32"]),
                "exact_float64": _order(exact["float64"]),
                "certified_float32": table[name].certified["float32"],
                "certified_float64": table[name].certified["float64"],
            }
        )
        for order in ORDERS:
            other = construct(name, order=order, alphabet_size=SIZE, length=LENGTH, force=True)
            assert other.certificate is not None
            bits.append(
                {
                    "construction": name,
                    "order": order,
                    "bits_certified": other.certificate.bits_needed,
                    "parameters": count_arrays(other),
                }
            )
    heads = [
        {
            "construction": row.construction,
            "heads": int(count),
            "dtype": dtype,
            "measured": _order(row.measured[dtype]),
            "proven": row.certified[dtype],
        }
        for row in table.values()
        if row.label in variants
        for count in [variants[row.label].get("heads", 1)]
        for dtype in DTYPES
    ]
    return Result(
        {
            "cost": Table(
                f"At order {ORDER}, S = {SIZE}, T = {LENGTH}: parts of the model, entries of its arrays, mantissa bits "
                "that its certificate asks for, and the largest orders that measured exact and that are certified.",
                rows,
            ),
            "bits": Table("Certified bits and stored parameters by order.", bits),
            "heads": Table("The largest order that H heads carry: measured, and H(p - 2) as proven.", heads),
        },
        {"trade-off": chart(bits), "heads": lines(heads)},
        settings={"order": ORDER, "alphabet_size": SIZE, "length": LENGTH},
    )


def _order(found: ExactOrder | None) -> int | None:
    return None if found is None else found.resolved


def lines(rows: list[Row]) -> Plot:
    """Measured orders over heads, on the lines that are proven."""
    drawn = []
    for index, (name, dtype) in enumerate(dict.fromkeys((row["construction"], row["dtype"]) for row in rows)):
        own = [row for row in rows if (row["construction"], row["dtype"]) == (name, dtype)]
        mark = MARKS[index % len(MARKS)]
        drawn.append(series(f"{name}, {dtype}", own, "heads", "measured", None, mark, index))
        drawn.append(series(f"{name}, {dtype}, proven", own, "heads", "proven", None, "-", index))
    caption = "Largest exact order over heads: measured points, and the lines H(p - 2); no order above 128 is built."
    return Plot(caption, [Chart("heads H", "order k", drawn, log="y")], width=6.0, height=4.4)


def chart(rows: list[Row]) -> Plot:
    """Certified bits and stored parameters against the order."""
    bits, parameters = [], []
    for mark, name in zip(itertools.cycle(MARKS), different(rows, "construction"), strict=False):
        own = [row for row in rows if row["construction"] == name]
        bits.append(series(name, own, "order", "bits_certified", style=f"{mark}-"))
        parameters.append(series(name, own, "order", "parameters", style=f"{mark}-"))
    ends = [ORDERS[0], ORDERS[-1]]
    bits += [Series(name, ends, [level] * 2, style=":", colour="0.6") for name, level in HELD.items()]
    charts = [
        Chart("order k", "mantissa bits, certified", bits, from_zero=True, top=80.0),
        Chart("order k", "stored parameters", parameters, log="y"),
    ]
    return Plot("One head pays for an order in bits, k heads pay in parameters.", charts, width=3.4, height=3.6)


EXPERIMENT = Experiment(
    "head-trade-off",
    "Heads or bits",
    "ours",
    None,
    "An order must be paid for: one head packs k tokens into one code and pays in bits, k heads keep the tokens apart "
    "and pay in heads and width.",
    {"tiny": 0.1, "quick": 0.1, "paper": 0.1},
    run,
)
