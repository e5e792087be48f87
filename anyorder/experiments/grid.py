"""The grid of App. H.5: cells spread over it, each trained for the full number of steps."""

from __future__ import annotations

import dataclasses

import numpy as np

from anyorder.experiments.experiment import STEPS, Budget, Experiment, Result, Table, Task
from anyorder.experiments.figures import Chart, Plot, different, series
from anyorder.files import Row
from anyorder.sweeps import cost, spec
from anyorder.sweeps.builtin import paper_grid
from anyorder.sweeps.spec import Run
from anyorder.training import config as configs

#: Cells that fit into an hour of two cores at the paper's budget, one seed each.
CELLS: dict[Budget, int] = {"tiny": 1, "quick": 6, "paper": 24}


def cells(task: Task) -> list[Run]:
    """Cells spread over the grid, one seed each, with the steps of the budget.

    >>> len(cells(Task("paper")))
    24
    """
    found = spec.runs(dataclasses.replace(paper_grid(), seeds=(0,)), CELLS[task.budget])
    steps = STEPS[task.budget]
    changes = {"steps": steps, "warmup": steps // 50}
    if task.budget == "tiny":
        changes |= {"dimension": 16, "batch": 16, "evaluation_count": 128}
    return [run._replace(config=configs.changed(run.config, changes)) for run in found]


def run(task: Task) -> Result:
    """Train every cell, name the best, and say what the rest would take."""
    chosen = cells(task)
    rows: list[Row] = []
    for part, cell in enumerate(chosen):
        summary = task.train(cell.config, part, len(chosen)).summary
        model, reference = summary.models[0], summary.reference
        second = model.attention[1][0]
        rows.append(
            {
                **cell.values,
                "excess": model.excess,
                "floor": reference.floor_excess,
                "gap": model.gap,
                "layer_2_on_matches": second.matching_mass,
                "chance": reference.chance_matching_mass,
            }
        )
    best = min(rows, key=lambda row: row["gap"])
    whole = paper_grid().count
    named = ", ".join(f"{axis} {best[axis]}" for axis in chosen[0].values)
    seconds = float(np.mean([cost.seconds(cell.config) for cell in chosen]))
    notes = (
        f"Best cell by its gap to the floor, {best['gap']:.4f} nats: {named}.",
        f"The whole grid is {whole} runs with five seeds; {len(rows)} were made here. By the estimate of sweeps a run "
        f"takes {seconds:.0f} s of one core, the rest {(whole - len(rows)) * seconds / 3600:,.0f} core-hours.",
    )
    caption = (
        "Cells of the grid of App. H.5, one seed each: excess over the true loss and gap to the Bayes floor (nats)."
    )
    return Result(
        {"cells": Table(caption, sorted(rows, key=lambda row: row["gap"]))},
        {"rates": chart(rows)},
        notes,
        {"data": "order 2, Dirichlet(1) rows", "cells": len(rows)},
        "paper",
        chosen[0].config,
    )


def chart(rows: list[Row]) -> Plot:
    """Gap against the learning rate, one mark for each length."""
    rows = [row | {"power": float(np.log10(row["learning_rate"]))} for row in rows]
    lines = [
        series(f"T = {length}", [row for row in rows if row["length"] == length], "power", "gap", None, "o")
        for length in sorted(different(rows, "length"))
    ]
    ticks = {f"{10.0**power:g}": float(power) for power in (-4, -3, -2)}
    caption = "Gap to the Bayes floor against the learning rate, one point for each cell."
    return Plot(caption, [Chart("learning rate", "gap (nats)", lines, ticks=ticks, from_zero=True)], width=4.0)


EXPERIMENT = Experiment(
    "grid",
    "The grid of hyper-parameters",
    "App. H.5",
    "Settings are searched on a grid of batch, rate, weight decay, betas, dropout, length, width and heads.",
    "Cells are drawn at random from the grid, as `anyorder sweep paper-grid --budget N` does; one seed each.",
    {"tiny": 0.3, "quick": 3, "paper": 60},
    run,
)
