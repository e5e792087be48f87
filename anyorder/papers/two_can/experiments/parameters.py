"""Parameters: Table 1 with the five architectures and their growth, and both breakdowns of App. I."""

from __future__ import annotations

from anyorder.constructions.parameters import PRINTED, Entry, breakdown, table_one
from anyorder.io.atomic import Row
from anyorder.papers.experiment import Result, Table, TableRow, Task, experiment
from anyorder.papers.figure_data import Chart, Plot, each, grouped

#: Values for the growth: each of these varies while the others keep their first value.
AXES = {
    "order": (3, 1, 2, 4, 6, 8, 12, 16),
    "alphabet_size": (2, 3, 4, 8, 16, 32),
    "length": (32, 16, 64, 128, 256, 512, 1024),
}
ORDER, SIZE, LENGTH = (values[0] for values in AXES.values())
DIMENSION = 256


@experiment(
    "Parameters of the five architectures",
    "Table 1",
    {"tiny": 0.1, "quick": 0.1, "paper": 0.1},
    paper="Two layers with one head each take 9d² + d(2T + 2S + 9) parameters with d = 6S + 3 for every order, less "
    "than the three layers of Rajaraman et al.; the k heads of Nichani et al. grow with (k·(S + T))².",
    reading="Formulas are evaluated as printed; where they do not add up, the corrected count is beside them, next to "
    "the array entries of our running models.",
    errata=("E6", "E12"),
)
def table_1(task: Task) -> Result:
    """The table for one choice of S, T and k, and its printed formulas along each of the three."""
    standard: Row = {axis: values[0] for axis, values in AXES.items()}
    entries = table_one(**standard, dimension=DIMENSION)
    rows: list[TableRow] = [
        {
            "work": entry.work,
            "order": entry.order,
            "architecture": entry.architecture,
            "formula": entry.formula,
            "printed": entry.paper,
            **_compared(entry.paper, _counted(entry)),
            "stored_by_us": entry.stored,
            "note": entry.note,
        }
        for entry in entries
    ]
    growth: list[Row] = []
    variants = [(axis, value) for axis, values in AXES.items() for value in sorted(values)]
    for part, (axis, value) in task.parts(variants):
        given = standard | {axis: value}
        part.watch(0.0, "k = {order}, S = {alphabet_size}, T = {length}".format(**given))
        for entry in table_one(**given, dimension=DIMENSION, stored=False):
            growth.append(
                {"axis": axis.replace("_", " "), "value": value, "work": entry.work, "parameters": entry.paper}
            )
    labels = {"order": "order k", "alphabet size": "alphabet size S", "length": "length T"}
    charts = [
        Chart(labels[axis], "parameters", each(own, "work", "value", "parameters"), log="xy")
        for axis, own in grouped(growth, "axis").items()
    ]
    caption = "Parameters by the printed formulas, along k, S and T with the others fixed."
    return Result(
        {
            "counts": Table(f"Table 1 at k = {ORDER}, S = {SIZE}, T = {LENGTH}; Bietti's d is {DIMENSION}.", rows),
            "growth": Table("The printed formulas, along one of k, S and T.", growth),
        },
        {"growth": Plot(caption, charts, width=2.6, shared=True)},
        notes=tuple(f"{entry.work}: {entry.note}." for entry in entries if entry.alternative is not None),
        settings=standard,
    )


def _counted(entry: Entry) -> int | None:
    """The count of the rows of App. I, or of the model of the formula; None if there is only a formula.

    >>> [_counted(entry) for entry in table_one(order=3, alphabet_size=2, length=32, stored=False)][-2:]
    [5055, 3180]
    """
    if entry.construction in PRINTED:
        return breakdown(entry.construction, alphabet_size=SIZE, length=LENGTH).counted
    return entry.alternative


def _compared(printed: int, counted: int | None) -> TableRow:
    return {"counted": counted, "counted_agrees": None if counted is None else counted == printed}


@experiment(
    "Parameters, component by component",
    "App. I, both tables",
    {"tiny": 0.1, "quick": 0.1, "paper": 0.1},
    paper="9d² + d(2T + 2S + 9) for the two-layer construction and 15d² + d(3T + 2S + 10) for that of Rajaraman et al.",
    errata=("E6",),
)
def parameters(task: Task) -> Result:
    """Printed rows next to the arrays of the running construction."""
    tables, notes = {}, []
    for part, name in task.parts(PRINTED):
        part.watch(0.0, name)
        found = breakdown(name, alphabet_size=SIZE, length=LENGTH)
        rows: list[TableRow] = [
            {
                "component": row.component,
                "formula": row.formula,
                "printed": row.paper,
                "counted": row.counted,
                "counted_agrees": None,  # the totals are judged
            }
            for row in found.components
        ]
        total: TableRow = {"formula": found.formula, "printed": found.printed_total}
        rows.append({"component": "total", **total, **_compared(found.printed_total, found.counted)})
        summed = f"{found.sum_of_rows:,}"
        tables[name] = Table(f"{name}, S = {SIZE}, T = {LENGTH}; the printed rows add up to {summed}.", rows)
        left_out = ", ".join(f"{what}: {count:,}" for what, count in found.uncounted.items())
        notes.append(f"{name}: {found.note}. Not in the table, but used: {left_out}.")
    return Result(tables, notes=tuple(notes), settings={"alphabet_size": SIZE, "length": LENGTH})
