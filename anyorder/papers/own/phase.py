"""A map over order, length and width of the settings in which gradient descent finds the induction head."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import numpy as np

from anyorder.papers.experiment import Budget, Result, Table, Task, experiment
from anyorder.papers.figure_data import Figure, Heat
from anyorder.sweeps import builtin
from anyorder.sweeps.analysis import Spread, by_cell, cells, grid, judged
from anyorder.sweeps.spec import Sweep
from anyorder.sweeps.table import SweepRow

#: Orders, lengths, widths and steps; `paper` is a finer map with the steps of the floor recipe.
GRIDS: dict[Budget, Callable[..., Sweep]] = {
    "tiny": partial(builtin.phase, (1,), (8,), (16,), steps=300),
    "quick": builtin.phase,
    "paper": partial(builtin.phase, (1, 2, 3, 4), (16, 32, 64, 128), (16, 32, 64), steps=2000),
}


@experiment(
    "When is the induction head found?",
    "our own, after the questions of Sec. 5 and App. H.5",
    {"tiny": 0.3, "quick": 8, "paper": 150},
    reading="Success is a fraction of seeds, after a fixed number of steps of one recipe: where it is zero, more steps "
    "may still find it.",
)
def phase(task: Task) -> Result:
    """Run the sweep `phase` on the cores of this machine: fractions of seeds by order, length and width."""
    sweep = GRIDS[task.budget](seeds=min(task.seeds, 2) if task.budget == "tiny" else task.seeds)
    rows, rule, lines = task.sweep(sweep), sweep.success, []
    means = (cells(sweep, rows, metric) for metric in ("gap", "attention", "matching_mass"))
    for seeds, gap, attention, mass in zip(by_cell(rows), *means, strict=True):
        near, attends = np.array([judged(row, rule) for row in seeds]).T
        done = [row.ended for row in seeds if row.ended.outcome == "done"]
        lines.append(
            {
                **seeds[0].values,
                "success": float(np.mean(near & attends)),
                "near_the_floor": float(np.mean(near)),
                "on_the_matches": float(np.mean(attends)),
                "gap": Spread(gap.mean, gap.deviation),
                "floor": done[0].floor_excess if done else None,
                "attention": attention.mean,
                "matching_mass": mass.mean,
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
    return Result({"phase": Table(caption, lines)}, maps(sweep, rows), settings=about)


def maps(sweep: Sweep, rows: list[SweepRow]) -> dict[str, Figure]:
    """Order against length, a map for each width: success, the gap, and attention."""
    axes = ("order k", list(map(str, sweep.axes["order"]))), ("length T", list(map(str, sweep.axes["length"])))
    drawn: dict[str, Figure] = {}
    for metric, label, caption in (
        ("success", "fraction of seeds", "near the floor and with attention on the matches: fraction of seeds"),
        ("gap", "gap to the floor (nats)", "gap to the Bayes floor, mean over seeds"),
        ("attention", "0 = chance, 1 = all", "attention of layer 2 on the matching positions, mean over seeds"),
    ):
        values = {}
        for width in sweep.axes["dimension"]:
            own = [row for row in rows if row.values["dimension"] == width]
            values[f"d = {width}"] = grid(sweep, own, "order", "length", metric)
        less, caption = metric == "gap", f"Order against length, for each width: {caption}."
        drawn[metric] = Heat(caption, values, *axes, label, fraction=not less, less=less)
    return drawn
