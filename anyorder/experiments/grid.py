"""The grid of App. H.5: cells spread over it, each trained for the full number of steps."""

from __future__ import annotations

import dataclasses
import time
from typing import Any

import numpy as np

from anyorder.experiments.experiment import STEPS, Budget, Experiment, Result, Table, Task
from anyorder.experiments.figures import Chart, Plot, different, series
from anyorder.sweeps.builtin import paper_grid
from anyorder.training.config import Config, changed

#: Cells that fit into an hour of two cores at the paper's budget, one seed each.
CELLS: dict[Budget, int] = {"tiny": 1, "quick": 6, "paper": 24}


def cells(count: int) -> list[dict[str, Any]]:
    """`count` cells of the grid in which every value of every axis occurs as often as any other, up to one.

    >>> chosen = cells(6)
    >>> sorted(cell["length"] for cell in chosen)
    [8, 8, 32, 32, 64, 64]
    """
    rng = np.random.default_rng(0)
    along = {}
    for axis, values in paper_grid().axes.items():
        places = rng.permutation(np.resize(np.arange(len(values)), count))
        along[axis] = [values[place] for place in places]
    return [{axis: values[number] for axis, values in along.items()} for number in range(count)]


def config(task: Task, cell: dict[str, Any]) -> Config:
    """The paper's preset with the settings of a cell; one seed."""
    steps = {"steps": STEPS[task.budget], "warmup": STEPS[task.budget] // 50}
    small = {"dimension": 16, "batch": 16, "evaluation_count": 128} if task.budget == "tiny" else {}
    listed = {axis: list(value) if isinstance(value, tuple) else value for axis, value in cell.items()}
    return changed(paper_grid().base, listed | steps | small | {"seeds": 1})


def run(task: Task) -> Result:
    """Train every cell, name the best, and say what the rest would take."""
    task = dataclasses.replace(task, seeds=1)
    chosen = cells(CELLS[task.budget])
    rows: list[dict[str, Any]] = []
    for part, cell in enumerate(chosen):
        clock = time.perf_counter()
        summary = task.train(config(task, cell), part, len(chosen)).summary
        model, reference = summary.models[0], summary.reference
        second = model.attention[1][0]
        rows.append(
            {
                **{axis: list(value) if isinstance(value, tuple) else value for axis, value in cell.items()},
                "excess": model.excess,
                "floor": reference.floor_excess,
                "gap": model.gap,
                "layer_2_on_matches": second.matching_mass,
                "chance": reference.chance_matching_mass,
                "minutes": (time.perf_counter() - clock) / 60,
            }
        )
    best = min(rows, key=lambda row: row["gap"])
    whole = paper_grid().count
    named = ", ".join(f"{axis} {best[axis]}" for axis in chosen[0])
    minutes = float(np.mean([row["minutes"] for row in rows]))
    notes = (
        f"Best cell by its gap to the floor, {best['gap']:.4f} nats: {named}.",
        f"The whole grid is {whole} runs with five seeds; {len(rows)} were made here, at {minutes:.1f} minutes each "
        f"the rest takes {(whole - len(rows)) * minutes / 60:,.0f} hours.",
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
        config(task, chosen[0]),
    )


def chart(rows: list[dict[str, Any]]) -> Plot:
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
    "Cells are spread over the grid so that every value of every axis occurs as often as any other; one seed each.",
    {"tiny": 0.3, "quick": 3, "paper": 60},
    run,
)
