"""When gradient descent finds the induction head: a map over order, length and width."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import numpy as np

from anyorder.experiments.experiment import Budget, Experiment, Result, Table, Task, spread
from anyorder.experiments.figures import Figure, Heat, different
from anyorder.files import Row
from anyorder.sweeps import builtin
from anyorder.sweeps.analysis import attends, near
from anyorder.sweeps.row import RunMetrics, SweepRow
from anyorder.sweeps.spec import Sweep

#: Orders, lengths, widths and steps; `paper` is a finer map with the steps of the floor recipe.
GRIDS: dict[Budget, Callable[..., Sweep]] = {
    "tiny": partial(builtin.phase, (1,), (8,), (16,), steps=300),
    "quick": builtin.phase,
    "paper": partial(builtin.phase, (1, 2, 3, 4), (16, 32, 64, 128), (16, 32, 64), steps=2000),
}


def run(task: Task) -> Result:
    """Run the sweep `phase` on the cores of this machine, into a folder beside the trained models."""
    seeds = min(task.seeds, 2) if task.budget == "tiny" else task.seeds
    sweep = GRIDS[task.budget](seeds=seeds)
    return tabulated(sweep, task.sweep(sweep))


def tabulated(sweep: Sweep, rows: list[SweepRow]) -> Result:
    """One line for every order, length and width: fractions of seeds, and what they are made of."""
    cells: dict[tuple[object, ...], list[SweepRow]] = {}
    for row in rows:
        cells.setdefault((row.values["dimension"], row.values["order"], row.values["length"]), []).append(row)
    rule, lines = sweep.success, []
    for (dimension, order, length), seeds in cells.items():
        done = [row.ended.measured for row in seeds if row.ended.measured is not None]
        gap, deviation = _spread(done, "gap")
        lines.append(
            {
                "dimension": dimension,
                "order": order,
                "length": length,
                "success": sum(near(row, rule) and attends(row, rule) for row in seeds) / len(seeds),
                "near_the_floor": sum(near(row, rule) for row in seeds) / len(seeds),
                "on_the_matches": sum(attends(row, rule) for row in seeds) / len(seeds),
                "gap_mean": gap,
                "gap_std": deviation,
                "floor": done[0].floor_excess if done else None,
                "attention": _spread(done, "attention")[0],
                "matching_mass": _spread(done, "matching_mass")[0],
                "chance": done[0].chance_mass if done else None,
                "seeds": len(seeds),
                "failed": len(seeds) - len(done),
            }
        )
    caption = (
        f"Fractions of seeds: `near the floor` within {rule.gap} nats of it, `on the matches` with at least "
        f"{rule.attention:g} of the attention of layer 2 that uniform attention lacks, `success` both. The gap to the "
        "floor and that attention (0: uniform, 1: all on the matching positions, the beginning token left aside) are "
        "means over seeds."
    )
    settings = sweep.base.optimisation
    about = {
        "recipe": f"floor, {settings.steps} steps, batch {settings.batch}, rate {settings.learning_rate[0]:g}",
        "data": "Dirichlet(1) rows, two symbols",
    }
    return Result({"phase": Table(caption, lines)}, maps(lines), settings=about)


def _spread(done: list[RunMetrics], name: str) -> tuple[float | None, float | None]:
    return spread([getattr(measured, name) for measured in done]) if done else (None, None)


def maps(rows: list[Row]) -> dict[str, Figure]:
    """Order against length, a map for each width: success, the gap, and attention."""
    orders, lengths, widths = (different(rows, name) for name in ("order", "length", "dimension"))
    axes = ("order k", list(map(str, orders))), ("length T", list(map(str, lengths)))
    drawn: dict[str, Figure] = {}
    for column, label, caption in (
        ("success", "fraction of seeds", "near the floor and with attention on the matches: fraction of seeds"),
        ("gap_mean", "gap to the floor (nats)", "gap to the Bayes floor, mean over seeds"),
        ("attention", "0 = chance, 1 = all", "attention of layer 2 on the matching positions, mean over seeds"),
    ):
        values = {f"d = {width}": np.full((len(orders), len(lengths)), np.nan) for width in widths}
        for row in rows:
            if row[column] is not None:
                place = orders.index(row["order"]), lengths.index(row["length"])
                values[f"d = {row['dimension']}"][place] = row[column]
        less, caption = column == "gap_mean", f"Order against length, for each width: {caption}."
        drawn[column.removesuffix("_mean")] = Heat(caption, values, *axes, label, fraction=not less, less=less)
    return drawn


EXPERIMENT = Experiment(
    "phase",
    "When is the induction head found?",
    "our own, after the questions of Sec. 5 and App. H.5",
    None,
    "Success is a fraction of seeds, after a fixed number of steps of one recipe: where it is zero, more steps may "
    "still find it.",
    {"tiny": 0.3, "quick": 8, "paper": 150},
    run,
)
