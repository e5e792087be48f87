"""One layer against two over a grid of settings (App. H.2, "persists across hyperparameter settings")."""

from __future__ import annotations

import itertools

import numpy as np

from anyorder.io.atomic import Row, Tables
from anyorder.papers.experiment import Budget, OnPage, Result, Table, Task, experiment, of_preset
from anyorder.papers.figure_data import Chart, Figure, Plot, grouped, series
from anyorder.papers.two_can.experiments.depth import DATA
from anyorder.papers.two_can.printed import DEPTH, JUDGED

#: The axes of the grid of App. H.5 that are varied, and how many of its cells each budget has.
DIMENSIONS, BATCHES, RATES = (32, 64, 128), (16, 32), (1e-4, 1e-3, 1e-2)
CELLS: dict[Budget, int] = {"tiny": 1, "quick": 3, "paper": 18}


def difference(recorded: Tables) -> str:
    """Name the cell of the grid in which one layer comes nearest to two."""
    rows = recorded["cells"]
    nearest, best = min(rows, key=lambda row: row["difference"]), min(rows, key=lambda row: row["one_layer"])
    return (
        f"**Depth across settings.** In {sum(row['difference'] > 0 for row in rows)} of {len(rows)} cells one layer is "
        f"above two. The smallest difference is {nearest['difference']:.4f}, at {_cell(nearest)}; the best one-layer "
        f"model has {best['one_layer']:.4f}, at {_cell(best)}, next to the printed {DEPTH[1]}."
    )


def _cell(row: Row) -> str:
    return f"rate {row['learning_rate']:g}, width {row['dimension']}, batch {row['batch']}"


def charts(tables: Tables) -> dict[str, Figure]:
    """Excess of both depths against the learning rate, a panel for each width."""
    ticks = {f"{rate:g}": float(np.log10(rate)) for rate in RATES}
    panels = []
    for dimension, own in sorted(grouped(tables["cells"], "dimension").items()):
        rows = [row | {"power": float(np.log10(row["learning_rate"]))} for row in own]
        lines = [
            series(f"{label}, batch {batch}", cells, "power", column, None, mark, colour, shift)
            for (batch, cells), mark, shift in zip(grouped(rows, "batch").items(), "os", (-0.06, 0.06), strict=False)
            for column, label, colour in (("one_layer", "one layer", 0), ("two_layers", "two layers", 2))
        ]
        title = f"d = {dimension}"
        panels.append(Chart("learning rate", "excess loss (nats)", lines, title, ticks=ticks, from_zero=True))
    caption = "Excess loss of one layer and of two, one seed for each cell."
    return {"settings": Plot(caption, panels, width=2.7, shared=True)}


@experiment(
    "One layer against two across settings",
    "App. H.2, that the difference persists",
    {"tiny": 0.2, "quick": 1.5, "paper": 45},
    paper="The difference between one layer and two persists across settings.",
    reading="A grid of 18 cells, learning rate × width × batch, all values of App. H.5, with one seed per depth and "
    "cell, otherwise the preset `published`. Its batch is two kernels with 16 sequences each; a batch of 16 is two "
    "kernels with eight.",
    recorded=OnPage(figures=("settings",), difference=difference, charts=charts),
)
def depth_settings(task: Task) -> Result:
    """Train one layer and two in every cell of the grid."""
    cells = list(itertools.product(DIMENSIONS, BATCHES, RATES))[: CELLS[task.budget]]
    rows: list[Row] = []
    for part, (dimension, batch, rate) in task.parts(cells):
        cell = {"dimension": dimension, "batch": batch, "learning_rate": rate, "per_kernel": min(16, batch // 2)}
        if task.budget == "tiny":
            cell |= {"dimension": 16, "batch": 16, "per_kernel": 8}
        one, two = (
            half.train(of_preset(task, JUDGED, DATA, layers=layers, seeds=1, **cell)).summary
            for half, layers in part.parts((1, 2))
        )
        excess = {"one_layer": one.models[0].excess, "two_layers": two.models[0].excess}
        apart = excess["one_layer"] - excess["two_layers"]
        rows.append({"preset": JUDGED, **cell, **excess, "difference": apart, "floor": one.reference.floor_excess})
    caption = "Excess cross-entropy over the true loss, nats per token, one seed of each depth in every cell."
    return Result(
        {"cells": Table(caption, rows)},
        charts({"cells": rows}),
        settings={"data": "order 2, T = 32, Dirichlet(1) rows"},
        preset=JUDGED,
        config=of_preset(task, JUDGED, DATA, seeds=1),
    )
