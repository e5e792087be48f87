"""What each construction pays for exactness: layers, heads, MLP, parameters, bits."""

from __future__ import annotations

from anyorder.constructions import CONSTRUCTIONS, construct
from anyorder.constructions.exact_orders import measured
from anyorder.constructions.parameters import count_arrays
from anyorder.experiments.experiment import Experiment, Result, Table, Task
from anyorder.experiments.figures import MARKS, Chart, Plot, Series, different, series

ORDER, SIZE, LENGTH = 3, 2, 64
SHOWN = ("two-layer", "two-head", "three-layer", "dyadic", "attention-only", "bayes", "k-head", "k-head-bayes")
ORDERS = tuple(range(1, 13))
#: Mantissa bits of the number types.
HELD = {"float32": 24, "float64": 53}


def run(task: Task) -> Result:
    """One row for each exact construction of any order, and the bits that its certificate asks for at each order."""
    rows, bits = [], []
    for part, name in enumerate(SHOWN):
        task.watch(part / len(SHOWN), name)
        model = construct(name, order=ORDER, alphabet_size=SIZE, length=LENGTH, force=True)
        assert model.certificate is not None
        exact = measured()[name]
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
                "exact_float32": exact["float32"].exact,
                "exact_float64": exact["float64"].exact,
                "tried": exact["float64"].tried,
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
    return Result(
        {
            "cost": Table(
                f"At order {ORDER}, S = {SIZE}, T = {LENGTH}: parts of the model, entries of its arrays, mantissa bits "
                "that its certificate asks for, and the largest orders that measured exact to 1e-5 (equal to `tried`: "
                "no end was found).",
                rows,
            ),
            "bits": Table("Certified bits and stored parameters by order.", bits),
        },
        {"trade-off": chart(bits)},
        settings={"order": ORDER, "alphabet_size": SIZE, "length": LENGTH},
    )


def chart(rows: list[dict]) -> Plot:
    """Certified bits and stored parameters against the order."""
    bits, parameters = [], []
    for mark, name in zip(MARKS, different(rows, "construction"), strict=False):
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
