"""The two breakdowns of parameters in App. I, row by row."""

from __future__ import annotations

from anyorder.constructions.parameters import breakdown
from anyorder.experiments.experiment import Experiment, Result, Table, Task

SIZE, LENGTH = 2, 32


def run(task: Task) -> Result:
    """Printed rows next to the arrays of the running construction."""
    tables, notes = {}, []
    for part, name in enumerate(("two-layer", "three-layer")):
        task.watch(part / 2, name)
        found = breakdown(name, alphabet_size=SIZE, length=LENGTH)
        rows = [
            {"component": row.component, "formula": row.formula, "printed": row.paper, "counted": row.counted}
            for row in found.components
        ]
        total = {"formula": found.formula, "printed": found.printed_total, "counted": found.counted}
        rows.append({"component": "total", **total})
        tables[name] = Table(f"{name}, S = {SIZE}, T = {LENGTH}; the printed rows add up to {found.sum_of_rows}.", rows)
        left_out = ", ".join(f"{what}: {count}" for what, count in found.uncounted.items())
        notes.append(f"{name}: {found.note}. Not in the table, but used: {left_out}.")
    return Result(tables, notes=tuple(notes), settings={"alphabet_size": SIZE, "length": LENGTH})


EXPERIMENT = Experiment(
    "parameters",
    "Parameters, component by component",
    "App. I, both tables",
    "9d² + d(2T + 2S + 9) for the two-layer construction and 15d² + d(3T + 2S + 10) for that of Rajaraman et al.",
    None,
    {"tiny": 0.1, "quick": 0.1, "paper": 0.1},
    run,
)
