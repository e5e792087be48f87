"""Table 1: parameters of the five architectures, and how they grow."""

from __future__ import annotations

from anyorder.constructions.parameters import table_one
from anyorder.experiments.experiment import Experiment, Result, Table, Task
from anyorder.experiments.figures import MARKS, Chart, Plot, different, series
from anyorder.files import Row

#: Where the growth is shown: each of these varies while the others stay at the first.
ORDERS, SIZES, LENGTHS = (3, 1, 2, 4, 6, 8, 12, 16), (2, 3, 4, 8, 16, 32), (32, 16, 64, 128, 256, 512, 1024)
DIMENSION = 256


def run(task: Task) -> Result:
    """The table for one choice of S, T and k, and its printed formulas along each of the three."""
    order, size, length = ORDERS[0], SIZES[0], LENGTHS[0]
    rows = [
        {
            "work": entry.work,
            "order": entry.order,
            "architecture": entry.architecture,
            "formula": entry.formula,
            "parameters": entry.paper,
            "corrected": entry.alternative,
            "stored_by_us": entry.stored,
            "note": entry.note,
        }
        for entry in table_one(order=order, alphabet_size=size, length=length, dimension=DIMENSION)
    ]
    growth = []
    variants = (
        [("order", value, (value, size, length)) for value in sorted(ORDERS)]
        + [("alphabet_size", value, (order, value, length)) for value in sorted(SIZES)]
        + [("length", value, (order, size, value)) for value in sorted(LENGTHS)]
    )
    for part, (axis, value, (k, s, t)) in enumerate(variants):
        task.watch(part / len(variants), f"k = {k}, S = {s}, T = {t}")
        for entry in table_one(order=k, alphabet_size=s, length=t, dimension=DIMENSION, stored=False):
            growth.append({"axis": axis, "value": value, "work": entry.work, "parameters": entry.paper})
    return Result(
        {
            "counts": Table(f"Table 1 at k = {order}, S = {size}, T = {length}; Bietti's d is {DIMENSION}.", rows),
            "growth": Table("The printed formulas, along one of k, S and T.", growth),
        },
        {"growth": chart(growth)},
        settings={"order": order, "alphabet_size": size, "length": length},
    )


def chart(growth: list[Row]) -> Plot:
    """Parameters along k, S and T."""
    labels = {"order": "order k", "alphabet_size": "alphabet size S", "length": "length T"}
    charts = []
    for axis, label in labels.items():
        lines = []
        for mark, work in zip(MARKS, different(growth, "work"), strict=False):
            own = [row for row in growth if row["axis"] == axis and row["work"] == work]
            lines.append(series(work, own, "value", "parameters", style=f"{mark}-"))
        charts.append(Chart(label, "parameters", lines, log="xy"))
    caption = "Parameters by the printed formulas, along k, S and T with the others fixed."
    return Plot(caption, charts, width=2.6, shared=True)


EXPERIMENT = Experiment(
    "table-1",
    "Parameters of the five architectures",
    "Table 1",
    "Two layers with one head each take 9d² + d(2T + 2S + 9) parameters with d = 6S + 3 for every order, less than "
    "the three layers of Rajaraman et al.; the k heads of Nichani et al. grow with (k·(S + T))².",
    "Formulas are evaluated as printed; where they do not add up the corrected count stands beside them, and next to "
    "both the entries of the arrays of our running models.",
    {"tiny": 0.1, "quick": 0.1, "paper": 0.1},
    run,
)
