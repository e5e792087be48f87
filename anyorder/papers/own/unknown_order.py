"""Chains of unknown order: does a trained transformer infer the order in context? Floors are the mixture and CTW."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from anyorder import probing
from anyorder.io.atomic import Row
from anyorder.models import Transformer
from anyorder.papers.experiment import Budget, OnPage, Result, Table, Task, experiment, of_preset
from anyorder.papers.figure_data import Chart, Plot, each, placed, series
from anyorder.papers.own.birth import enough_seeds
from anyorder.sweeps.analysis import spread
from anyorder.training.config import Config, Data

#: Largest gap to the floor, in nats, for which a model counts as selecting the order like the Bayes mixture.
NEAR = 0.002
#: The recipe that reaches this gap, as changes to the preset `floor`: several heads, for several orders.
RECIPE = {"heads": [4], "optimiser": "muon", "learning_rate": [8e-3], "steps": 5000}
#: Names of models in the tables.
RECIPE_NAME, ONE, ATTENTION = "two layers, four heads, Muon", "one layer", "attention only"
#: Test sequences of the probe for each model.
PROBED: dict[Budget, int] = {"tiny": 4, "quick": 24, "paper": 24}


class Trial(NamedTuple):
    """A kind of model on one source; `changes` are those to the preset `floor`."""

    model: str
    data: Data
    changes: Mapping[str, object]


def mixture(max_order: int, length: int) -> Data:
    """Orders 1 … K with equal probability, Dirichlet(1) rows, two symbols."""
    return Data(prior="order-mixture", min_order=1, max_order=max_order, length=length)


def trials(budget: Budget) -> list[Trial]:
    """The runs of a budget: the preset and smaller models on one source, then the recipe over K and T."""
    one, attention = {"layers": 1}, {"mlp": "none", "last_mlp": False}
    tree = Data(prior="tree", depth=3, length=64)
    quick = [
        Trial("two layers", mixture(3, 64), {}),
        Trial(ONE, mixture(3, 64), one),
        Trial(ATTENTION, mixture(3, 64), attention),
        Trial("two layers", tree, {}),
        Trial(RECIPE_NAME, mixture(3, 64), RECIPE),
    ]
    full = [
        *(Trial(RECIPE_NAME, mixture(order, 64), RECIPE) for order in (2, 4)),
        *(Trial(RECIPE_NAME, mixture(3, length), RECIPE) for length in (32, 128)),
        Trial(RECIPE_NAME, tree, RECIPE),
    ]
    tiny = [Trial("two layers", mixture(2, 8), {}), Trial(ONE, mixture(2, 8), one)]
    return {"tiny": tiny, "quick": quick, "paper": [*quick, *full]}[budget]


def config(task: Task, trial: Trial) -> Config:
    """The preset `floor` on the source of a trial, with the trial's changes."""
    return of_preset(task, "floor", trial.data, **trial.changes)


def heads(models: Sequence[Transformer], longest: int, count: int) -> list[Row]:
    """The probe's reading of every head of the last layer."""
    found = []
    for seed, model in enumerate(models):
        settings = probing.Settings(sequences=count, max_length=longest, layers=(len(model.layers) - 1,))
        for head in probing.probe(probing.OwnModel(model, f"seed {seed}"), settings).heads:
            found.append(
                {
                    "seed": seed,
                    "head": head.head,
                    "order": head.found.order,
                    "graded": head.found.graded,
                    "mean_step": None if head.kind == "none" else head.found.mean,
                    "mean_step_error": None if head.kind == "none" else head.found.mean_error,
                    "spectrum": [round(value, 3) for value in head.spectrum],
                }
            )
    return found


@experiment(
    "Does a transformer find the order in context?",
    "our own; the paper fixes the order",
    {"tiny": 0.3, "quick": 15, "paper": 90},
    reading="The order of every chain is drawn uniformly from 1 … K, or its context tree from the prior of "
    "context-tree weighting. The floor is the Bayes mixture over orders, or context-tree weighting; the best fixed "
    f"order lies above it. A model within {NEAR} nats of the floor is counted as selecting the order.",
    on_page=OnPage(),
)
def unknown_order(task: Task) -> Result:
    """Train every trial; locate the models between the floor and the best fixed order."""
    task = enough_seeds(task)
    trained = trials(task.budget)
    rows, fixed, looked = [], [], []
    for part, trial in task.parts(trained):
        run = part.train(config(task, trial))
        models, summary = run.models, run.summary
        about = summary.reference
        where: Row = {"source": trial.data.prior, "K": trial.data.window, "T": trial.data.length}
        assert about.floor_excess is not None
        gaps = spread([model.gap for model in summary.models if model.gap is not None])
        best = min((one.excess for one in about.fixed_orders), default=about.floor_excess)
        rows.append(
            {
                "model": trial.model,
                **where,
                "floor": about.floor_excess,
                "gap": gaps,
                "gap_error": max(model.gap_error or 0.0 for model in summary.models),
                "best_fixed_order": best - about.floor_excess,
                "within": gaps.mean is not None and gaps.mean <= NEAR,
            }
        )
        count = PROBED[task.budget]
        looked += [{"model": trial.model, **where, **row} for row in heads(models, trial.data.window + 2, count)]
        for one in about.fixed_orders:
            line = {**where, "order": one.order, "over_floor": one.excess - about.floor_excess}
            if line not in fixed:
                fixed.append(line)
    caption = (
        "Gap to the Bayes floor in nats per token, mean ± standard deviation over seeds; `gap_error` is its standard "
        "error over the held-out sequences. `best_fixed_order` is the gap of the best add-one smoothing of a single "
        "order; `within` says whether the mean gap is at most 0.002."
    )
    return Result(
        {
            "gaps": Table(caption, rows),
            "fixed_orders": Table("Add-one smoothing of each fixed order, in nats over the same floor.", fixed),
            "heads": Table(
                "Probe readings of the heads of the last layer. The spectrum is attention relative to chance at match "
                "lengths 0, 1, …; that of a graded head rises at several lengths, and `mean_step` is their mean.",
                looked,
            ),
        },
        {"gaps": _chart(rows)},
        settings={"data": "two symbols, Dirichlet(1) rows, the first K tokens uniform", "near": f"{NEAR} nats"},
        preset="floor",
        config=config(task, trained[0]),
    )


def _chart(rows: list[Row]) -> Plot:
    def label(row: Row) -> str:
        source = "trees" if row["source"] == "tree" else f"K = {row['K']}"
        return f"{source}\nT = {row['T']}"

    at, ticks = placed(rows, label)
    lines = each(at, "model", "place", "gap", style="o")
    lines.append(series("best fixed order", at, "place", "best_fixed_order", "k_"))
    caption = (
        "Loss over the Bayes floor for sources of unknown order, on a logarithmic scale: the lower a model lies, the "
        "closer its order selection is to Bayes."
    )
    return Plot(caption, [Chart("source", "nats over the floor", lines, log="y", ticks=ticks)], width=6.0, height=3.6)
