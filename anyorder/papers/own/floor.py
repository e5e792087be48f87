"""Every estimator next to the true loss and the Bayes floor, and the losses of trained models."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from functools import partial
from typing import NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, PRNGKeyArray

from anyorder import chains, estimators
from anyorder.chains.random import Seed, as_key
from anyorder.estimators import Estimate, LossSummary
from anyorder.io.atomic import Row
from anyorder.papers.experiment import Result, Table, Task, experiment, of_preset
from anyorder.papers.figure_data import MARKS, Chart, Plot, grouped, series
from anyorder.sweeps.analysis import Spread, spread
from anyorder.training.config import Data

#: Predictors in display order. The first is the floor: optimal for Dirichlet(1) rows.
PREDICTORS: dict[str, Callable[..., Estimate]] = {
    "Bayes (add-one)": estimators.add_beta,
    "add-half (KT)": partial(estimators.add_beta, beta=0.5),
    "back-off": estimators.backoff,
    "k-gram": estimators.kgram,
    "biased k-gram": estimators.biased,
    "bag of k": estimators.bag,
}
FLOOR = "Bayes (add-one)"


class PredictorScores(NamedTuple):
    """One predictor, where it is defined.

    `excess` is the exact loss minus the true loss on the same sequences, infinite if a possible token is predicted with
    probability zero; `missed` is the true probability of such tokens; `distance` is the total variation distance to the
    true distribution, which is always finite.
    """

    excess: LossSummary
    missed: LossSummary
    distance: LossSummary


class Comparison(NamedTuple):
    """Every predictor on one set of sequences; losses are in nats per token."""

    order: int
    length: int
    true: LossSummary
    scores: dict[str, PredictorScores]


def compare(key: Seed, *, order: int, length: int = 65, count: int = 4096) -> Comparison:
    """Sample chains over two symbols with Dirichlet(1) rows and measure every predictor on them.

    Losses are expectations over the true next-token distribution, so that only the sequences are random.

    >>> result = compare(jax.random.key(0), order=1, length=9, count=64)
    >>> 0 < result.scores[FLOOR].excess.mean < 1
    True
    """
    measured = _measure(as_key(key), order, length, count)
    # The first k tokens are uniform under every kernel: only predictions from a full window are scored.
    true, found = jax.tree.map(lambda losses: estimators.summarise(losses[:, order - 1 :]), measured)
    scores = {name: PredictorScores(*three) for name, three in zip(PREDICTORS, found, strict=True)}
    return Comparison(order, length, true, scores)


Losses = Float[Array, "count predicted"]


@eqx.filter_jit
def _measure(
    key: PRNGKeyArray, order: int, length: int, count: int
) -> tuple[Losses, list[tuple[Losses, Losses, Losses]]]:
    def one(tokens: Array, truth: Array) -> tuple[Array, list[tuple[Array, Array, Array]]]:
        true, measured = estimators.true_loss(truth), []
        for predictor in PREDICTORS.values():
            estimate = predictor(tokens, order=order, alphabet_size=2)
            excess = estimators.exact_loss(estimate.probabilities, truth) - true
            distance = jnp.abs(estimate.probabilities[:-1] - truth[1:]).sum(axis=1) / 2
            measured.append((excess, estimators.missed_probability(estimate, truth), distance))
        return true, measured

    drawn = chains.sample(chains.Dirichlet(order, 2), length=length, count=count, seed=key)
    return jax.vmap(one)(drawn.tokens, drawn.truth)


#: Orders and values of T of the grid, and its cells in which models are trained, by budget.
GRID: dict[str, tuple[tuple[int, ...], tuple[int, ...]]] = {
    "tiny": ((2,), (8, 32)),
    "quick": ((1, 2, 3), (8, 32, 64)),
    "paper": ((1, 2, 3), (8, 32, 64)),
}
TRAINED: dict[str, tuple[tuple[int, int], ...]] = {
    "tiny": ((2, 32),),
    "quick": ((1, 32), (2, 32), (3, 32), (2, 8)),
    "paper": tuple((order, length) for order in (1, 2, 3) for length in (8, 32, 64)),
}
RECIPES = ("paper", "floor")


@experiment(
    "How near to the Bayes floor",
    "ours; the paper's losses for order 2 are in App. H.2",
    {"tiny": 0.4, "quick": 2, "paper": 150},
    reading="The Bayes predictor for Dirichlet(1) rows is add-one smoothing of the counts after the same k tokens; no "
    "predictor has a smaller mean loss.",
)
def floor(task: Task) -> Result:
    """Estimators over the whole grid, trained models in some of its cells."""
    orders, lengths = GRID[task.budget]
    gaps: dict[tuple[int, int, str], list[float]] = {}
    cells = [(*cell, recipe) for cell in TRAINED[task.budget] for recipe in RECIPES]
    for part, (order, length, recipe) in task.parts(cells):
        config = of_preset(task, recipe, Data(order=order, length=length))
        models = part.train(config).summary.models
        gaps[order, length, recipe] = [model.gap for model in models if model.gap is not None]
    rows, missed = [], []
    for order, length in itertools.product(orders, lengths):
        key = jax.random.fold_in(jax.random.key(0), 100 * order + length)
        found = compare(key, order=order, length=length + 1, count=512 if task.budget == "tiny" else 8192)
        floor = found.scores[FLOOR].excess
        trained = {recipe: gaps.get((order, length, recipe), []) for recipe in RECIPES}
        about: Row = {"order": order, "length": length}
        rows.append(
            {
                **about,
                "floor": floor.mean,
                "floor_error": floor.standard_error,
                "KT": found.scores["add-half (KT)"].excess.mean,
                **{f"{recipe} preset": spread([floor.mean + gap for gap in own]) for recipe, own in trained.items()},
            }
        )
        missed += [
            {
                **about,
                "predictor": name,
                "zero_probability": found.scores[name].missed.mean,
                "distance": found.scores[name].distance.mean,
                "floor_distance": found.scores[FLOOR].distance.mean,
            }
            for name in ("k-gram", "bag of k")
        ]
    return Result(
        {
            "excess": Table(
                "Excess over the true loss, nats per token, mean over the predictions from a full window. Trained "
                "models: their gap to the floor on their own evaluation set, added to this floor.",
                rows,
            ),
            "zero": Table(
                "The k-gram and the bag of k assign zero to some tokens that occur, so their loss is infinite: the "
                "probability of these tokens, and the total variation distance to the true distribution.",
                missed,
            ),
        },
        {"floor": _chart(rows)},
        settings={"alphabet": 2, "data": "Dirichlet(1) rows, T + 1 tokens"},
    )


def _chart(rows: list[Row]) -> Plot:
    charts = []
    doubled = [row | {"floor": Spread(row["floor"], 2 * row["floor_error"])} for row in rows]
    for order, own in sorted(grouped(doubled, "order").items()):
        lines = [
            series("Bayes floor", own, "length", "floor", "--", "black"),
            series("add-half (KT)", own, "length", "KT", "-", 4),
            *(series(f"{one} preset", own, "length", f"{one} preset", MARKS[i], i) for i, one in enumerate(RECIPES)),
        ]
        at = {str(row["length"]): float(row["length"]) for row in own}
        charts.append(Chart("T", "excess loss (nats)", lines, f"order {order}", log="x", ticks=at, from_zero=True))
    caption = "Excess over the true loss against T: estimators, and models of both presets."
    return Plot(caption, charts, width=2.7, shared=True)
