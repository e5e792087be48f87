"""The grid of App. H.5: cells spread over it, each trained for the full number of steps."""

from __future__ import annotations

import dataclasses

import numpy as np

from anyorder.io.atomic import Row
from anyorder.papers.experiment import STEPS, Budget, OnPage, Result, Table, Task, experiment
from anyorder.papers.figure_data import Chart, Plot, grouped, series
from anyorder.papers.two_can.sweeps import PAPER_GRID
from anyorder.sweeps import cost, spec
from anyorder.sweeps.spec import Sweep
from anyorder.training.config import changed

#: Cells of each budget, one seed each; those of the paper's budget take about an hour of two cores.
CELLS: dict[Budget, int] = {"tiny": 1, "quick": 6, "paper": 24}


def sweep(budget: Budget) -> Sweep:
    """The grid with the steps of the budget and one seed.

    >>> sweep("paper").base.optimisation.steps, sweep("paper").cells
    (30000, 3888)
    """
    whole, steps = PAPER_GRID, STEPS[budget]
    base = changed(whole.base, {"steps": steps, "warmup": steps // 50})
    if budget == "tiny":
        base = changed(base, {"evaluation_count": 128})
    axes = whole.axes | ({"dimension": (16,), "batch": (16,)} if budget == "tiny" else {})
    return dataclasses.replace(whole, base=base, axes=axes, seeds=(0,))


@experiment(
    "The grid of hyper-parameters",
    "App. H.5",
    {"tiny": 0.3, "quick": 5, "paper": 55},
    paper="Settings are searched on a grid of batch, rate, weight decay, betas, dropout, length, width and heads.",
    reading="Cells are drawn at random from the grid; one seed each.",
    on_page=OnPage(figures=("rates",)),
)
def grid(task: Task) -> Result:
    """Train cells spread over the grid, and estimate the cost of the rest."""
    grid, whole = sweep(task.budget), PAPER_GRID.count
    ended = task.sweep(grid, CELLS[task.budget])
    rows: list[Row] = [
        {
            **row.values,
            "excess": row.ended.excess,
            "floor": row.ended.floor_excess,
            "gap": row.ended.gap,
            "layer_2_on_matches": row.ended.matching_mass,
            "chance": row.ended.chance_mass,
        }
        for row in ended
        if row.ended.outcome == "done"
    ]
    rows.sort(key=lambda row: (row["length"], row["gap"]))
    chosen = [cell.config for cell in spec.runs(grid, CELLS[task.budget])]
    seconds = float(np.mean([cost.seconds(run.config) for run in spec.runs(sweep("paper"))]))
    failed = [f"{_named(grid, row.values)}: {row.ended.reason}" for row in ended if row.ended.outcome != "done"]
    notes = (
        f"The whole grid is {whole:,} runs with five seeds; {len(ended)} were made here. By the estimate of sweeps a "
        f"run takes {seconds:.0f} s of one core, the rest {(whole - len(ended)) * seconds / 3600:,.0f} core-hours.",
        *(f"Without a result: {one}." for one in failed),
    )
    caption = (
        "Cells of the grid of App. H.5, one seed each: excess over the true loss and gap to the Bayes floor in nats "
        "per token, the best of each length first."
    )
    return Result(
        {"cells": Table(caption, rows)},
        {"rates": chart(rows)},
        notes,
        {"data": "order 2, Dirichlet(1) rows", "cells": len(ended)},
        "paper",
        chosen[0],
    )


def _named(grid: Sweep, values: Row) -> str:
    return ", ".join(f"{axis.replace('_', ' ')} {values[axis]}" for axis in grid.axes)


def chart(rows: list[Row]) -> Plot:
    """Gap against the learning rate: a colour for each length, a cross where there is dropout."""
    rows = [row | {"power": float(np.log10(row["learning_rate"]))} for row in rows]
    lines = []
    for colour, (length, own) in enumerate(grouped(rows, "length").items()):
        for dropout, cells in grouped(own, "dropout").items():
            label, style = (f"T = {length}, dropout", "x") if dropout else (f"T = {length}", "o")
            lines.append(series(label, cells, "power", "gap", style, colour, shift=0.1 * (colour - 1)))
    ticks = {f"{10.0**power:g}": float(power) for power in (-4, -3, -2)}
    caption = "Gap to the Bayes floor against the learning rate, one point for each cell."
    return Plot(caption, [Chart("learning rate", "gap (nats)", lines, ticks=ticks, from_zero=True)], width=5.4)
