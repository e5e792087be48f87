"""The cost of exactness in each construction: layers, heads, MLP, parameters, bits."""

from __future__ import annotations

from anyorder.constructions import CONSTRUCTIONS, construct
from anyorder.constructions.exact_orders import label, precision_table
from anyorder.constructions.parameters import count_arrays
from anyorder.io.atomic import Row
from anyorder.io.numerics import DTYPES
from anyorder.papers.experiment import Result, Table, Task, experiment
from anyorder.papers.figure_data import Chart, Plot, Series, each, exact_orders

ORDER, SIZE, LENGTH = 3, 2, 64
ORDERS = tuple(range(1, 13))
#: Mantissa bits of the number types.
HELD = {"float32": 24, "float64": 53}


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
        {"trade-off": chart(bits), "heads": exact_orders(over_heads, named, "heads", "heads H", log="y")},
        settings={"order": ORDER, "alphabet_size": SIZE, "length": LENGTH},
    )


def chart(rows: list[Row]) -> Plot:
    """Certified bits and stored parameters against the order."""
    bits, parameters = (each(rows, "construction", "order", column) for column in ("bits_certified", "parameters"))
    ends = [ORDERS[0], ORDERS[-1]]
    bits += [Series(name, ends, [level] * 2, style=":", colour="0.6") for name, level in HELD.items()]
    charts = [
        Chart("order k", "mantissa bits, certified", bits, from_zero=True, top=80.0),
        Chart("order k", "stored parameters", parameters, log="y"),
    ]
    return Plot("One head pays for an order in bits, k heads pay in parameters.", charts, width=3.4, height=3.6)
