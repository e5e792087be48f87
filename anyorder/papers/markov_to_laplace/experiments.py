"""Trained layers of Mamba: the number of taps that order k needs, and the learnt smoothing β.

The *share* of a model is its gap to the Bayes floor, divided by that of the predictor of order k - 1, which ignores the
oldest of the k tokens: 0 is add-β smoothing of order k, 1 is no better than the shorter order.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import partial
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Int

from anyorder import estimators
from anyorder.constructions import construct
from anyorder.io.atomic import Row
from anyorder.papers.experiment import Budget, OnPage, Result, Table, Task, experiment
from anyorder.papers.figure_data import Chart, Plot, Series, each, grouped, series
from anyorder.sweeps.analysis import spread
from anyorder.training.config import Config, preset
from anyorder.training.evaluation import evaluate
from anyorder.training.predictions import predictions
from anyorder.training.reference import Reference, evaluation_set, held_out

#: Tokens T of a sequence, by order.
LENGTHS = {1: 32, 2: 32, 3: 64}
#: Logarithmic grid of β for the nearest smoothing.
GRID = np.geomspace(0.02, 50, 157)
#: Held-out sequences for the nearest β.
COUNT: dict[Budget, int] = {"tiny": 32, "quick": 512, "paper": 1024}

MAMBA, ONE, TWO = "one layer of Mamba", "one layer of attention", "two layers of attention"
CERTIFIED = "recurrent-bayes, certified"


#: A model learns order k if its share ends below the first, and misses it if its share begins above the second.
LEARNS, MISSES = 0.05, 0.25


class Trial(NamedTuple):
    """A kind of model on chains of one order; `taps` is w of the paper, None for attention."""

    model: str
    order: int
    taps: int | None = None


TRIALS: dict[Budget, tuple[Trial, ...]] = {
    "tiny": (Trial(MAMBA, 1, 1), Trial(MAMBA, 1, 2)),
    "quick": (*(Trial(MAMBA, order, taps) for order in (1, 2) for taps in (order, order + 1)), Trial(ONE, 1)),
    "paper": (
        *(Trial(MAMBA, 1, taps) for taps in (1, 2)),
        *(Trial(model, 1) for model in (ONE, TWO)),
        *(Trial(MAMBA, 2, taps) for taps in (1, 2, 3)),
        *(Trial(MAMBA, 3, taps) for taps in (1, 3, 4)),
    ),
}
#: Concentrations β of the Dirichlet rows.
PRIORS: dict[Budget, tuple[float, ...]] = {"tiny": (1.0,), "quick": (0.5, 2.0), "paper": (0.5, 1.0, 2.0)}
#: Orders other than 1 at which β is measured, for the prior with β = 1.
ORDERS: dict[Budget, tuple[int, ...]] = {"tiny": (), "quick": (), "paper": (2, 3)}


def config(task: Task, trial: Trial, **changes: Any) -> Config:
    """The preset `fast` for a trial, reduced for the budget `tiny`."""
    changes |= {"layers": 2 if trial.model == TWO else 1, "evaluate_every": 2000}
    if trial.taps is not None:
        changes |= {"mixer": "mamba", "taps": trial.taps}
    if task.budget == "tiny":
        changes |= {"steps": 60, "dimension": 16, "batch": 16, "evaluation_count": 128}
    return preset(order=trial.order, length=LENGTHS[trial.order], seeds=task.seeds, **changes)


def shorter(reference: Reference, order: int) -> float:
    """The gap of the predictor of order k - 1 to the floor: the loss of models that ignore the oldest token."""
    assert reference.floor_excess is not None
    return reference.predictors[f"order-{order - 1}"].mean - reference.floor_excess


SHARES = (
    "Gap to the Bayes floor in nats per token, and `share`, the gap divided by that of the predictor of order k - 1 "
    "(`shorter_order`), mean ± standard deviation over seeds; `gap_error` is the largest standard error of a gap over "
    "the held-out sequences. `taps` is the number w of tokens that the convolution sees; with 1 there is no "
    "convolution. The last rows are constructions, not trained."
)


@experiment(
    "How many tokens must the convolution see?",
    "Sec. 3 and 4: Mamba against transformers, and the role of convolution",
    {"tiny": 0.3, "quick": 2, "paper": 58},
    paper="One layer of Mamba learns add-β smoothing at every order, one layer of attention does not; without "
    "convolution Mamba fails; a window of w = k + 1 tokens is enough for order k.",
    reading="Binary chains with Dirichlet(1) rows, Mamba-2 with four heads and no MLP, recipe `fast`. The authors' "
    "code has sequences of 256 tokens by default, 512 at order 3; ours have 32 at orders 1 and 2 and 64 at order 3.",
    on_page=OnPage(("window",)),
)
def window(task: Task) -> Result:
    """Train one layer of Mamba with windows around k + 1, and attention; the last rows are the certified recurrence."""
    rows: list[Row] = []
    orders: dict[int, Reference] = {}
    for part, trial in task.parts(TRIALS[task.budget]):
        summary = part.train(config(task, trial)).summary
        orders[trial.order] = summary.reference
        gaps = np.array([one.gap for one in summary.models], float)
        rows.append(_row(trial, summary.reference, gaps, max(one.gap_error or 0.0 for one in summary.models)))
    for order in orders:
        data = config(task, Trial(MAMBA, order, order + 1)).data
        drawn = evaluation_set(data, COUNT[task.budget])
        built = construct("recurrent-bayes", order=order, alphabet_size=2, length=data.length)
        found = evaluate(built, drawn)
        assert found.gap is not None
        rows.append(_row(Trial(CERTIFIED, order, order + 1), drawn.reference, np.array([found.gap]), found.gap_error))
    return Result(
        {"window": Table(SHARES, rows)},
        {"window": _window_figure(rows)},
        settings={"data": "two symbols, Dirichlet(1) rows", "recipe": "fast"},
        preset="fast",
        config=config(task, TRIALS[task.budget][0]),
    )


def _row(trial: Trial, reference: Reference, gaps: Float[np.ndarray, "seeds"], error: float | None) -> Row:
    return {
        "model": trial.model,
        "order": trial.order,
        "taps": trial.taps,
        "T": LENGTHS[trial.order],
        "floor": reference.floor_excess,
        "gap": spread(gaps),
        "gap_error": error,
        "shorter_order": shorter(reference, trial.order),
        "share": spread(gaps / shorter(reference, trial.order)),
    }


def _window_figure(rows: Sequence[Row]) -> Plot:
    trained = [row for row in rows if row["model"] == MAMBA]
    lines = each(trained, "order", "taps", "share", label="order {}")
    ticks = {str(taps): float(taps) for taps in sorted({row["taps"] for row in trained})}
    ends = [min(ticks.values()), max(ticks.values())]
    levels = {"misses above": (MISSES, "--"), "learns below": (LEARNS, ":")}
    lines += [Series(name, ends, [level] * 2, style=style, colour="0.5") for name, (level, style) in levels.items()]
    caption = (
        "Gap of one layer of Mamba to the Bayes floor, as a share of the gap of order k - 1, over the tokens w that "
        "its convolution sees, mean ± standard deviation over seeds. The grey lines are the thresholds of the rules."
    )
    return Plot(caption, [Chart("tokens w of the convolution", "share", lines, log="y", ticks=ticks)], 5.0, 3.4)


@partial(jax.jit, static_argnames="order")
def _distances(
    predicted: Float[Array, "count length symbols"], tokens: Int[Array, "count length"], beta: Array, order: int
) -> Float[Array, ""]:
    """The mean of D(add-β ‖ model) over all predictions from a full window."""

    def each(predicted: Array, tokens: Array) -> Array:
        rows = estimators.add_beta(tokens, order=order, alphabet_size=predicted.shape[-1], beta=beta).probabilities
        return (rows * (jnp.log(rows) - jnp.log(predicted))).sum(axis=-1)[order - 1 :].mean()

    return jax.vmap(each)(predicted, tokens).mean()


def nearest_beta(
    predicted: Float[Array, "count length symbols"], tokens: Int[Array, "count length"], order: int
) -> tuple[float, float]:
    """The β whose add-β smoothing is nearest to some predictions, and D(add-β ‖ model) there.

    The minimum on a logarithmic grid, refined by the parabola through it and its neighbours.
    """
    found = np.array([float(_distances(predicted, tokens, jnp.asarray(beta), order)) for beta in GRID])
    place = int(np.clip(found.argmin(), 1, len(GRID) - 2))
    before, least, after = found[place - 1 : place + 2]
    moved = 0.5 * (before - after) / (before - 2 * least + after)
    step = np.log(GRID[1] / GRID[0])
    return float(GRID[place] * np.exp(np.clip(moved, -1, 1) * step)), float(least)


@experiment(
    "Which β does it add?",
    "Sec. 3: Mamba implements the optimal smoothing; Fig. 1",
    {"tiny": 0.2, "quick": 0.6, "paper": 20},
    paper="The layer learns the Bayes predictor of its prior: for Dirichlet(β) rows it adds β.",
    reading="β of a model is that of the add-β predictor with the least mean D(add-β ‖ model) on held-out sequences.",
    on_page=OnPage(("beta",)),
)
def beta(task: Task) -> Result:
    """Train one layer for each prior, w = k + 1, and find the nearest add-β smoothing."""
    rows: list[Row] = []
    shown: Any = None
    asked = [(1, prior) for prior in PRIORS[task.budget]] + [(order, 1.0) for order in ORDERS[task.budget]]
    for part, (order, prior) in task.parts(asked):
        own = config(task, Trial(MAMBA, order, order + 1), **({} if prior == 1 else {"concentration": prior}))
        trained = part.train(own)
        tokens = held_out(own.data, COUNT[task.budget], seed=1).tokens[:, :-1]
        each = [jnp.asarray(predictions(model, tokens, 2, "probabilities")[0]) for model in trained.models]
        nearest = [nearest_beta(predicted, tokens, order) for predicted in each]
        at_prior = [float(_distances(predicted, tokens, jnp.asarray(prior), order)) for predicted in each]
        rows.append(
            {
                "order": order,
                "prior_beta": prior,
                "learnt_beta": spread([value for value, _ in nearest]),
                "distance": spread([distance for _, distance in nearest]),
                "distance_at_prior": spread(at_prior),
                "shorter_order": shorter(trained.summary.reference, order),
            }
        )
        if shown is None or (order, prior) == (1, 1.0):
            shown = prior, tokens[0], [np.asarray(predicted[0, :, 1]) for predicted in each]
    caption = (
        "The β whose add-β smoothing is nearest to a model, and D(add-β ‖ model) in nats there (`distance`) and at "
        "the β of the prior, mean ± standard deviation over seeds. `shorter_order` is the gap of the predictor of "
        "order k - 1 to the Bayes floor."
    )
    return Result(
        {"beta": Table(caption, rows)},
        {"beta": _beta_figure(rows, *shown)},
        settings={"data": "two symbols, Dirichlet(β) rows", "recipe": "fast", "taps": "k + 1"},
        preset="fast",
        config=config(task, Trial(MAMBA, 1, 2)),
    )


def _beta_figure(rows: Iterable[Row], prior: float, tokens: Int[Array, "length"], models: Sequence[np.ndarray]) -> Plot:
    by_order = grouped(rows, "order")
    ends = [min(PRIORS["paper"]), max(PRIORS["paper"])]
    lines = [
        series(f"order {order}", own, "prior_beta", "learnt_beta", style="o", shift=0.06 * (order - 1))
        for order, own in by_order.items()
    ]
    lines.append(Series("β of the prior", ends, ends, style=":", colour="0.5"))
    exact = np.asarray(estimators.add_beta(tokens, order=1, alphabet_size=2, beta=prior).probabilities[:, 1])
    places = list(range(1, len(exact) + 1))
    track = [
        Series(f"add-{prior:g} smoothing", places, exact.tolist(), style="-", colour=0),
        Series("Mamba, mean of the seeds", places, np.mean(models, axis=0).tolist(), style="o", colour=1),
    ]
    caption = (
        "Left: the β that one layer of Mamba adds against that of the prior; orders 2 and 3 are shifted to the right. "
        "Right: the probability of the symbol b after each token of a held-out sequence, order 1."
    )
    charts = [
        Chart("β of the prior", "β that is learnt", lines, ticks={f"{beta:g}": beta for beta in PRIORS["paper"]}),
        Chart("tokens seen", "probability of b", track),
    ]
    return Plot(caption, charts, width=4.2, height=3.4)


EXPERIMENTS = (window, beta)
