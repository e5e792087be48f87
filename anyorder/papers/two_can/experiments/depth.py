"""One layer against two on second-order chains, and over a grid of settings (App. H.2)."""

from __future__ import annotations

import dataclasses
import itertools
from collections.abc import Mapping

import numpy as np

from anyorder.io.atomic import Row, Tables
from anyorder.papers.experiment import Budget, OnPage, Result, Table, Task, experiment, of_preset
from anyorder.papers.figure_data import Chart, Figure, MapGrid, Plot, grouped, sequence_maps, series
from anyorder.papers.two_can.experiments import as_published, learned_code
from anyorder.papers.two_can.printed import DEPTH, JUDGED, SHOWN, Printed, judged, printed_series
from anyorder.sweeps.analysis import spread
from anyorder.training.config import Data
from anyorder.training.reference import held_out

DATA = Data(order=2, length=32)
#: Number of sequences shown, and of those over which attention is averaged.
SEQUENCES, AVERAGED = 3, 256
#: Changes to the judged one-layer model that may explain its loss, one seed each.
CHANGES: dict[str, dict[str, object]] = {
    "a kernel for each sequence": {"per_kernel": 1},
    "the MLP of App. B.1": {"mlp": "paper"},
}
#: The varied axes of the grid of App. H.5, and the number of cells of each budget.
DIMENSIONS, BATCHES, RATES = (32, 64, 128), (16, 32), (1e-4, 1e-3, 1e-2)
CELLS: dict[Budget, int] = {"tiny": 1, "quick": 3, "paper": 18}


def of_judged(task: Task, tables: dict[str, Table], figures: Mapping[str, Figure], **settings: object) -> Result:
    """The result of an experiment on the data of App. H.2 that shows the judged preset first."""
    data = {"data": "order 2, T = 32, Dirichlet(1) rows"} | settings
    return Result(tables, figures, settings=data, preset=JUDGED, config=of_preset(task, JUDGED, DATA))


def charts(tables: Tables) -> dict[str, Figure]:
    """The figure that is drawn from the table."""
    chart = excess_chart("layers", judged(tables["excess"]), {"1": 1.0, "2": 2.0}, list(DEPTH.values()), shift=0.05)
    caption = "Excess loss of one layer and of two, mean and standard deviation over seeds."
    return {"excess": Plot(caption, [chart], width=3.8)}


@experiment(
    "One layer against two",
    "App. H.2, its table of excess losses and the maps below it",
    {"tiny": 0.3, "quick": 1.1, "paper": 40},
    paper=f"One layer stays at {DEPTH[1]} nats above the true loss, two layers reach {DEPTH[2]}; the attention of the "
    "one-layer model lies on two or three diagonals below the main one instead of on the matching positions.",
    reading="The models are those of the preset `published`, and beside them of `paper`. The excess is the mean over "
    "the predictions from a full window, and the expectation over the true next-token distribution is exact, so that "
    "only the sequences are sampled. The second table evaluates the same models in the way of the published code.",
    on_page=OnPage(figures=("one-layer",), charts=charts),
)
def depth(task: Task) -> Result:
    """Train both; keep the attention of the one-layer model on a few sequences."""
    found: dict[str, list[Row]] = {name: [] for name in CAPTIONS}
    drawn = held_out(DATA, AVERAGED).tokens[:, :-1]
    figures: dict[str, Figure] = {}
    table, changes = (half for half, _ in task.parts(("table", "changes")))
    for part, (preset, layers) in table.parts(list(itertools.product(task.among(SHOWN[:2]), DEPTH))):
        run = part.train(of_preset(task, preset, DATA, layers=layers))
        about, reference = {"preset": preset, "layers": layers}, run.summary.reference
        excess = spread([model.excess for model in run.summary.models])
        assert excess.mean is not None
        assert reference.floor_excess is not None
        found["excess"].append(
            {
                **about,
                "excess": excess,
                **DEPTH[layers].beside("excess", excess),
                "floor": reference.floor_excess,
                "gap": excess.mean - reference.floor_excess,
                "true_loss": reference.true_loss,
            }
        )
        found["as_published"].append({**about, **as_published.row(task, run.models, DATA, DEPTH[layers])})
        if layers == 1:
            heads = [learned_code.first_heads(model, drawn)[0] for model in run.models]
            weights = np.stack([learned_code.offset_weights(head, DATA.order) for head in heads])
            found["diagonals"] += [
                {"preset": preset, "offset": offset, "weight": spread(values)}
                for offset, values in enumerate(weights.T)
            ]
            shown = learned_code.telling(drawn, SEQUENCES)
            maps = {
                "one layer": learned_code.first_heads(run.models[0], shown)[0],
                "pseudo-attention": learned_code.ideal_maps(shown, DATA.order),
            }
            grid = [sequence_maps(title, found, shown) for title, found in maps.items()]
            figures["one-layer" if preset == JUDGED else f"one-layer-{preset}"] = MapGrid(MAPS, grid)
    for part, (change, fields) in changes.parts(CHANGES.items()):
        run = part.train(of_preset(task, JUDGED, DATA, layers=1, seeds=1, **fields))
        mean = as_published.row(task, run.models, DATA, DEPTH[1])["mean"]
        row = {"preset": JUDGED, "change": change, "excess": run.summary.models[0].excess, "as_published": mean}
        found["one_layer"].append(row)
    return of_judged(task, {name: Table(CAPTIONS[name], rows) for name, rows in found.items()}, charts(found) | figures)


MAPS = "Attention of the one-layer model on three sequences: diagonals instead of the matching positions below them."
CAPTIONS = {
    "excess": "Excess cross-entropy over the true loss, nats per token; mean ± standard deviation over seeds.",
    "as_published": as_published.CAPTION,
    "one_layer": "The judged one-layer model with one change, one seed: excess, and the mean over kernels of the "
    "evaluation of the published code.",
    "diagonals": "Attention of the one-layer model at each offset, the mean over sequences; over seeds ± standard "
    "deviation.",
}


def excess_chart(
    axis: str, rows: list[Row], ticks: dict[str, float], printed: list[Printed], style: str = "s", shift: float = 0.0
) -> Chart:
    """Excess losses at these ticks: measured, printed (`shift` to the right, ours to the left), and the Bayes floor."""
    placed = [row | {"place": place} for row, place in zip(rows, ticks.values(), strict=True)]
    lines = [
        series("measured", placed, "place", "excess", "o", 0, -shift),
        printed_series(printed, [place + shift for place in ticks.values()], style),
        series("Bayes floor", placed, "place", "floor", "--", "black"),
    ]
    return Chart(axis, "excess loss (nats)", lines, ticks=ticks)


def settings_chart(tables: Tables) -> dict[str, Figure]:
    """Excess of both depths against the learning rate, a panel for each width."""
    ticks = {f"{rate:g}": float(np.log10(rate)) for rate in RATES}
    panels = []
    for dimension, own in sorted(grouped(tables["cells"], "dimension").items()):
        rows = [row | {"power": float(np.log10(row["learning_rate"]))} for row in own]
        lines = [
            series(f"{label}, batch {batch}", cells, "power", column, mark, colour, shift)
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
    on_page=OnPage(figures=("settings",), charts=settings_chart),
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
    return of_judged(
        dataclasses.replace(task, seeds=1), {"cells": Table(caption, rows)}, settings_chart({"cells": rows})
    )
