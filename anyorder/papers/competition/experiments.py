"""Models on a finite pool of N chains during training, as mixtures of four exact predictors.

The four differ in two ways: a predictor *retrieves* one of the N chains, by its exact posterior, or *infers* the
chain from counts in the context; and it uses single symbols (unigram) or pairs (bigram). The weights of a model are
those of the mixture nearest to its predictions on sequences of chains from the pool. Novel chains, outside the pool,
are a second test, on which retrieval fails but inference does not.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Any, NamedTuple

import jax
import numpy as np
from jaxtyping import Array, Float, Int
from scipy.optimize import minimize

from anyorder import estimators
from anyorder.io.atomic import Row
from anyorder.papers.experiment import Budget, OnPage, Result, Table, Task, experiment, run_name
from anyorder.papers.figure_data import Chart, Heat, Plot, each, grouped, series
from anyorder.sweeps.analysis import spread
from anyorder.training.config import Config, Data, preset
from anyorder.training.folder import kept_models
from anyorder.training.predictions import predictions
from anyorder.training.reference import held_out

#: The four predictors by their names in `estimators.references`.
FOUR = {
    "unigram-retrieval": "unigram retrieval",
    "order-0": "unigram inference",
    "retrieval": "bigram retrieval",
    "order-1": "bigram inference",
}
UNIGRAMS, RETRIEVAL, INFERENCE = ("unigram-retrieval", "order-0"), "retrieval", "order-1"
#: Evaluation sequences of the pool, and as many of novel chains.
COUNT = 128
#: Two layers with an MLP, as in the paper, and a constant rate.
MODEL: dict[str, Any] = {
    "order": 1, "alphabet_size": 4, "length": 32, "prior": "pool", "heads": 1, "mlp": "gpt2", "targets": "sampled",
    "predictions": "all", "optimiser": "adamw", "schedule": "constant", "warmup": 50, "learning_rate": 1e-3,
    "weight_decay": 0.01, "batch": 32, "evaluation_count": 64,
}  # fmt: skip


class Setting(NamedTuple):
    """The chains of the pool, and the model."""

    chains: int
    layers: int = 2
    dimension: int = 32


STEPS: dict[Budget, int] = {"tiny": 60, "quick": 1000, "paper": 4000}
#: Steps between two saved models.
EVERY: dict[Budget, int] = {"tiny": 20, "quick": 50, "paper": 25}
POOLS: dict[Budget, tuple[int, ...]] = {"tiny": (2,), "quick": (2, 64), "paper": (2, 8, 16, 64, 256)}
OTHERS: dict[Budget, tuple[Setting, ...]] = {
    "tiny": (Setting(2, layers=1),),
    "quick": (Setting(2, layers=1),),
    "paper": (
        Setting(256, layers=1),
        *(Setting(chains, dimension=16) for chains in (8, 16, 64)),
        *(Setting(chains, layers=3) for chains in (16, 64)),
    ),
}


def config(task: Task, setting: Setting) -> Config:
    """The models of a setting; every seed has the same pool, its own weights and its own sequences."""
    steps = STEPS[task.budget]
    return preset(
        **MODEL, seeds=task.seeds, chains=setting.chains, layers=setting.layers, dimension=setting.dimension,
        steps=steps, evaluate_every=steps, keep_every=EVERY[task.budget],
    )  # fmt: skip


def times(steps: list[int]) -> list[int]:
    """About ten of the given steps, evenly spaced in the logarithm after the first.

    >>> times([0, 50, 100, 150, 200, 250, 300, 350, 400])
    [0, 50, 100, 150, 200, 250, 350, 400]
    """
    wanted = np.geomspace(steps[1], steps[-1], 12)
    near = {min(steps[1:], key=lambda step, goal=goal: abs(step - goal)) for goal in wanted}  # type: ignore[misc]
    return [0, *sorted(near)]


class Sequences(NamedTuple):
    """Held-out sequences, with every predictor's distributions for the tokens after the first."""

    tokens: Int[Array, "count length"]
    truth: Float[np.ndarray, "count predicted symbols"]
    rows: dict[str, Float[np.ndarray, "count predicted symbols"]]


def sequences(data: Data, novel: bool = False) -> Sequences:
    """Sequences of chains from the pool, or of novel chains, and the four predictors of the pool on both."""
    own = Data(order=1, alphabet_size=data.alphabet_size, length=data.length) if novel else data
    drawn = held_out(own, COUNT, seed=1)
    known = estimators.references(data.source)
    return Sequences(
        drawn.tokens[:, :-1],
        np.asarray(drawn.truth[:, 1:]),
        {
            name: np.asarray(
                jax.jit(jax.vmap(lambda row, name=name: known[name](row).probabilities))(drawn.tokens[:, :-1])
            )
            for name in FOUR
        },
    )


def mixture_weights(
    predicted: Float[np.ndarray, "count predicted symbols"],
    rows: Mapping[str, Float[np.ndarray, "count predicted symbols"]],
) -> dict[str, float]:
    """The weights of the mixture of predictors with the least mean D(predicted ‖ mixture).

    The problem is convex, with one minimum.

    >>> rows = {"a": np.array([[[0.9, 0.1]]]), "b": np.array([[[0.1, 0.9]]])}
    >>> {name: round(one, 3) for name, one in mixture_weights(np.array([[[0.7, 0.3]]]), rows).items()}
    {'a': 0.75, 'b': 0.25}
    """
    known, wanted = np.stack([row.ravel() for row in rows.values()]), predicted.ravel()
    count = len(known)

    def distance(weights: Float[np.ndarray, "predictors"]) -> tuple[float, Float[np.ndarray, "predictors"]]:
        mixture = weights @ known
        return -float(wanted @ np.log(mixture)) / len(wanted), -(known @ (wanted / mixture)) / len(wanted)

    found = minimize(
        distance, np.full(count, 1 / count), jac=True, method="SLSQP", bounds=[(0, 1)] * count,
        constraints={"type": "eq", "fun": lambda weights: weights.sum() - 1, "jac": np.ones_like},
        options={"ftol": 1e-12, "maxiter": 200},
    )  # fmt: skip
    return dict(zip(rows, map(float, found.x), strict=True))


def mixture_distance(
    predicted: Float[np.ndarray, "count predicted symbols"],
    rows: Mapping[str, Float[np.ndarray, "count predicted symbols"]],
    weights: Mapping[str, float],
) -> float:
    """The mean D(predicted ‖ mixture) of a mixture of predictors, in nats."""
    mixture = sum(weights[name] * row for name, row in rows.items())
    return float((predicted * np.log(predicted / mixture)).sum(axis=2).mean())


def loss_above(
    predicted: Float[np.ndarray, "count predicted symbols"],
    best: Float[np.ndarray, "count predicted symbols"],
    truth: Any,
) -> float:
    """The loss of predictions above that of others on the same sequences, in nats per token."""
    return float((truth * (np.log(best) - np.log(predicted))).sum(axis=2).mean())


def course(task: Task, setting: Setting) -> list[Row]:
    """Train, and measure the saved models: weights of the four predictors, and losses on pool and novel chains."""
    own = config(task, setting)
    task.train(own)
    kept = kept_models(task.runs / run_name(own))
    seen, novel = sequences(own.data), sequences(own.data, novel=True)
    read = partial(predictions, alphabet_size=own.data.alphabet_size, output="probabilities")
    rows = []
    for step in times(list(kept)):
        on_pool = [read(model, seen.tokens)[0] for model in kept[step]]
        on_novel = [read(model, novel.tokens)[0] for model in kept[step]]
        weights = [mixture_weights(one, seen.rows) for one in on_pool]
        rows.append(
            {
                **setting._asdict(),
                "step": step,
                **{name: spread([one[name] for one in weights]) for name in FOUR},
                "distance": spread(
                    [mixture_distance(one, seen.rows, fit) for one, fit in zip(on_pool, weights, strict=True)]
                ),
                "pool_gap": spread([loss_above(one, seen.rows[RETRIEVAL], seen.truth) for one in on_pool]),
                "novel_gap": spread([loss_above(one, novel.rows[INFERENCE], novel.truth) for one in on_novel]),
            }
        )
    return rows


WEIGHTS = (
    "Weights of the four predictors in the mixture that is nearest to the models, by pool size N (`chains`) and step, "
    "mean ± standard deviation over seeds. `distance` is D(model ‖ mixture), `pool_gap` the loss above bigram "
    "retrieval, the Bayes predictor of the pool, and `novel_gap` that above bigram inference on chains outside the "
    "pool, in nats per token."
)


@experiment(
    "The phase map",
    "the sections on algorithmic phases and on their competition: weights of four algorithms over diversity and time",
    {"tiny": 0.3, "quick": 2, "paper": 17},
    paper="Four algorithms, unigram or bigram, retrieval or inference, explain the models. Which one dominates depends "
    "on the number N of chains and on training time; at medium N inference comes first and retrieval replaces it.",
    reading="Four symbols and 32 tokens (the paper: ten and 512), N up to 256 (2,048), all chains of a pool equally "
    "likely (the paper draws their probabilities). Weights are exact minimisers on 128 held-out sequences of the pool.",
    on_page=OnPage(("map", "weights")),
)
def phase_map(task: Task) -> Result:
    """Train on pools of several sizes; measure the weights of the predictors at each step."""
    rows = [row for part, chains in task.parts(POOLS[task.budget]) for row in course(part, Setting(chains))]
    return Result(
        {"weights": Table(WEIGHTS, rows)},
        {"map": _map(rows), "weights": _lines(rows)},
        settings={"data": "order 1, four symbols, pools of Dirichlet(1) rows", "models": "two layers, d = 32, MLP"},
        preset="fast",
        config=config(task, Setting(POOLS[task.budget][0])),
    )


def _map(rows: list[Row]) -> Heat:
    """The weight of each predictor over steps and pool sizes."""
    sizes, steps = (sorted({row[name] for row in rows}) for name in ("chains", "step"))
    at = {(row["chains"], row["step"]): row for row in rows}
    maps = {
        shown: np.array([[at[size, step][name].mean for step in steps] for size in reversed(sizes)], float)
        for name, shown in FOUR.items()
    }
    down = ("chains N", [str(size) for size in reversed(sizes)])
    caption = "The phase map: the weight of each predictor in the models, over pool size N and training steps."
    return Heat(caption, maps, down, ("step", [str(step) for step in steps]), "weight", fraction=True)


def _lines(rows: list[Row]) -> Plot:
    charts = []
    for size, own in grouped(rows, "chains").items():
        lines = [
            series(shown, own[1:], "step", name, colour=number) for number, (name, shown) in enumerate(FOUR.items())
        ]
        charts.append(Chart("step", "weight", lines, f"N = {size}", log="x", top=1.0))
    caption = (
        "Weights of the four predictors during training, for each pool size N, mean ± standard deviation over seeds."
    )
    return Plot(caption, charts, width=2.2, height=2.8, shared=True)


@experiment(
    "Depth and width",
    "the section on architecture",
    {"tiny": 0.3, "quick": 1.2, "paper": 30},
    paper="Depth and width of the model move the borders between the phases.",
    reading="One layer in place of two at the largest pool; around the border between retrieval and inference, three "
    "layers in place of two, and d = 16 in place of 32; the weights at the end.",
    on_page=OnPage(("architecture",)),
)
def architecture(task: Task) -> Result:
    """The weights at the end of training for other depths and widths, beside those of the map."""
    settings = [*map(Setting, POOLS[task.budget]), *OTHERS[task.budget]]
    rows = [course(part, setting)[-1] for part, setting in task.parts(settings)]
    kinds = [{**row, "kind": f"layers: {row['layers']}, d = {row['dimension']}"} for row in rows]
    charts = [
        Chart("chains N", "weight", each(kinds, "kind", "chains", name), FOUR[name], log="x", from_zero=True, top=1.0)
        for name in (RETRIEVAL, INFERENCE)
    ]
    caption = "Weights of the two bigram predictors at the end of training, by depth and width, over pool size N."
    return Result(
        {"weights": Table(WEIGHTS, rows)},
        {"architecture": Plot(caption, charts, width=4.0, height=3.2)},
        settings={"data": "order 1, four symbols, pools of Dirichlet(1) rows"},
        preset="fast",
        config=config(task, settings[0]),
    )


EXPERIMENTS = (phase_map, architecture)
