"""Attention-only models of two layers during training: the nearest strategy, and the formation of heads.

Models are kept every few steps. On held-out sequences each has its exact D(strategy ‖ model) for every strategy:
uniform, and add-one smoothing of order 0 (unigram), 1 (bigram), … k. The layers are measured separately:
layer 1 by its attention on the last k tokens, layer 2 by its weights, independent of layer 1.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import equinox as eqx
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Int

from anyorder.io.atomic import Row
from anyorder.models import Head, Transformer
from anyorder.papers.experiment import Budget, OnPage, Result, Table, Task, experiment, run_name
from anyorder.papers.figure_data import Chart, Plot, Series
from anyorder.sweeps.analysis import longest, spread, wilson
from anyorder.training.config import Config, preset
from anyorder.training.folder import kept_models
from anyorder.training.predictions import predictions
from anyorder.training.reference import EvaluationSet, evaluation_set

UNIFORM, DIRICHLET, DOUBLY = "uniform", "dirichlet", "doubly-stochastic"
#: Consecutive measurements that make a stage.
LONG = 3
#: A model has arrived when D(order-k ‖ model) is this share of D(order-k ‖ uniform).
ARRIVED = 0.5
#: Held-out sequences.
COUNT = 256
#: Attention only, with relative positions in layer 1: no MLP, no norms, no beginning token; a constant rate.
MODEL: dict[str, Any] = {
    "layers": 2, "mlp": "none", "last_mlp": False, "key_positions": "first", "beginning": False, "pre_norm": False,
    "qk_norm": False, "zero_output": False, "weights": "gpt2", "targets": "sampled", "predictions": "all",
    "optimiser": "adamw", "learning_rate": 1e-3, "schedule": "constant", "warmup": 0, "weight_decay": 0.0, "clip": 0,
    "evaluation_count": 64,
}  # fmt: skip

#: The model and the recipe of the paper's repository, without its dropout.
REPOSITORY: dict[str, Any] = MODEL | {
    "key_positions": "all", "pre_norm": True, "learning_rate": 5e-4, "weight_decay": 0.1, "clip": 1.0,
}  # fmt: skip
OURS, THEIRS = "ours", "of the repository"
MODELS = {OURS: MODEL, THEIRS: REPOSITORY}


class Setting(NamedTuple):
    """Chains, the number of training steps, and the size of a batch; layer 1 has a head for each of the k tokens."""

    order: int
    alphabet_size: int
    prior: str
    dimension: int
    steps: int
    length: int = 48
    batch: int = 32
    model: str = OURS


BIGRAM = Setting(1, 3, DIRICHLET, 16, 2400)
TRIGRAM = Setting(2, 2, DIRICHLET, 32, 24_000)
SETTINGS: dict[Budget, tuple[Setting, ...]] = {
    "tiny": (BIGRAM._replace(steps=60),),
    "quick": (BIGRAM,),
    "paper": (  # order 1 has the sequences and batches of the paper's repository
        BIGRAM._replace(length=100, batch=64),
        TRIGRAM._replace(model=THEIRS, steps=12_000),
        TRIGRAM,
    ),
}
#: Models that learn chains without a useful unigram; those of the repository are judged.
COMPARED: dict[Budget, tuple[str, ...]] = {"tiny": (OURS,), "quick": (OURS,), "paper": (THEIRS, OURS)}
#: Steps between two measurements.
EVERY: dict[Budget, int] = {"tiny": 10, "quick": 50, "paper": 50}


class Course(NamedTuple):
    """The development of the models of a run, per seed and measurement.

    `layer_1` is the attention of layer 1 on the last k tokens, `layer_2` the alignment of layer 2.
    """

    steps: Float[np.ndarray, "times"]
    names: tuple[str, ...]
    distances: Float[np.ndarray, "seeds times strategies"]
    layer_1: Float[np.ndarray, "seeds times"]
    layer_2: Float[np.ndarray, "seeds times"]

    def nearest(self) -> Int[np.ndarray, "seeds times"]:
        """The number of the nearest strategy."""
        return self.distances.argmin(axis=2)


def config(task: Task, setting: Setting) -> Config:
    """The models of a setting, saved at every measurement."""
    heads = (setting.order, 1)
    return preset(
        order=setting.order, seeds=task.seeds, heads=heads, alphabet_size=setting.alphabet_size, prior=setting.prior,
        dimension=setting.dimension, **MODELS[setting.model], length=setting.length, batch=setting.batch,
        steps=setting.steps, evaluate_every=setting.steps, keep_every=EVERY[task.budget],
    )  # fmt: skip


def strategies(drawn: EvaluationSet) -> dict[str, Float[np.ndarray, "count predicted symbols"]]:
    """The predictions of every strategy for the tokens k … T, from uniform to the order of the chains."""
    order, size = drawn.source.order, drawn.source.alphabet_size
    rows = {name: np.asarray(row[:, order:]) for name, row in drawn.references.items()}
    shorter = {f"order-{number}": rows[f"order-{number}"] for number in range(order)}
    last = rows[name] if (name := f"order-{order}") in rows else rows["bayes"]  # for Dirichlet rows these are one
    flat = np.full((*last.shape[:2], size), 1 / size)
    return {UNIFORM: flat, **shorter, name: last}


def divergence(
    strategy: Float[np.ndarray, "count predicted symbols"], predicted: Float[np.ndarray, "count predicted symbols"]
) -> float:
    """The mean of D(strategy ‖ predicted) over sequences and tokens, in nats.

    >>> round(divergence(np.array([[[0.5, 0.5]]]), np.array([[[0.25, 0.75]]])), 4)
    0.1438
    """
    return float((strategy * (np.log(strategy) - np.log(predicted))).sum(axis=2).mean())


@eqx.filter_jit
def alignment(model: Transformer) -> Float[Array, ""]:
    """Score of layer 2 for a key with the query's token, minus that for other keys, in nats.

    A key has the token that layer 1 wrote there, from any position: the score of query token a and key token b is
    (W_Q e_a)·(W_K Σ_heads W_P W_V e_b), times the scale. The result is the mean over b = a minus that over b ≠ a.
    """
    held = jnp.zeros_like(model.embedding)
    for head in model.layers[0].heads:
        assert isinstance(head, Head)
        written = model.embedding @ head.value.T
        held = held + (written if head.projection is None else written @ head.projection.T)
    (second,) = model.layers[1].heads
    assert isinstance(second, Head)
    scores = second.scale * (model.embedding @ second.query.T) @ (held @ second.key.T).T
    size, own = len(scores), jnp.trace(scores)
    return own / size - (scores.sum() - own) / (size * (size - 1))


@eqx.filter_jit
def on_last(model: Transformer, tokens: Int[Array, "length"], order: int) -> Float[Array, ""]:
    """Attention of layer 1 at offsets 1 … k: the sum over offsets of the largest mean attention of any head."""
    weights = jnp.asarray(model.trace(tokens).attention[0])
    places = jnp.arange(order, weights.shape[1])
    by_offset = [weights[:, places, places - offset].mean(axis=1) for offset in range(1, order + 1)]
    return jnp.max(jnp.stack(by_offset), axis=1).sum() / order


def course(task: Task, config: Config) -> Course:
    """Train, and measure the saved models."""
    task.train(config)
    drawn = evaluation_set(config.data, COUNT)
    known, order = strategies(drawn), config.data.order
    read, found = drawn.tokens[:, :-1], []
    kept = kept_models(task.runs / run_name(config))
    for models in kept.values():
        at_step = []
        for model in models:
            predicted = predictions(model, read, drawn.source.alphabet_size, "probabilities")[0][:, order - 1 :]
            distances = [divergence(rows, predicted) for rows in known.values()]
            at_step.append([*distances, float(on_last(model, read[0], order)), float(alignment(model))])
        found.append(at_step)
    measured = np.array(found).swapaxes(0, 1)
    return Course(np.array(list(kept), float), tuple(known), measured[..., :-2], measured[..., -2], measured[..., -1])


def passes(nearest: Int[np.ndarray, "times"], count: int) -> bool:
    """Whether one model is nearest to every strategy for `LONG` measurements in a row, in the order of the strategies.

    >>> passes(np.array([0, 0, 0, 1, 1, 1, 2, 2, 2]), 3), passes(np.array([0, 0, 0, 2, 2, 2, 1, 1, 1]), 3)
    (True, False)
    """
    found = [longest(nearest == number) for number in range(count)]
    begins = [begin for begin, _ in found]
    return all(length >= LONG for _, length in found) and begins == sorted(begins)


def formed(steps: Float[np.ndarray, "times"], values: Float[np.ndarray, "times"]) -> float:
    """The first step at which a measure has risen half of the way from its first value to its last.

    >>> formed(np.array([0.0, 10.0, 20.0]), np.array([0.1, 0.2, 0.9]))
    20.0
    """
    return float(steps[np.argmax(values >= (values[0] + values[-1]) / 2)])


def arrives(found: Course) -> list[float | None]:
    """For each seed the first step at which D(order-k ‖ model) is at most a share of D(order-k ‖ uniform)."""
    start = found.distances[:, :1, -1]  # random weights are uniform within 0.001 nats
    near = found.distances[..., -1] <= ARRIVED * start
    return [float(found.steps[np.argmax(own)]) if own.any() else None for own in near]


STAGES = (
    "Seeds that pass through all strategies in their order, and the 95% interval of their share (`share_from`, "
    "`share_to`). For each strategy: the share of the run in which it is the nearest, the seeds in which it has a "
    "stage, the step at which its longest stage begins in these seeds, and the smallest D(strategy ‖ model) in nats "
    "(`closest`). Mean ± standard deviation over seeds."
)
LAYERS = (
    "Order 1: the step at which each layer has formed, and its measure at the end. The measure of layer 1 is its "
    "attention on the last token; that of layer 2 is the score of a key that holds the query's token minus that of "
    "other keys. Mean ± standard deviation over seeds; `layer_2_later` is the difference within a seed, in steps."
)


@experiment(
    "Uniform, unigram, bigram",
    "Fig. 1, and the sections on n-grams and on the layers",
    {"tiny": 0.2, "quick": 1, "paper": 25},
    paper="Models first predict uniformly, then by in-context unigrams, then change rapidly to bigrams; n-grams are "
    "learnt in the same way, order by order. The signal of layer 1 depends on how far layer 2 has come.",
    reading="A stage is at least three measurements in a row in which a strategy is the nearest one, by exact "
    "D(strategy ‖ model): the shading of the paper's Fig. 1. Attention alone; order 2 has T = 48 where the paper has "
    "100, and models of the paper's repository beside ours.",
    on_page=OnPage(("stages",)),
)
def stages(task: Task) -> Result:
    """Follow models on chains of order 1 and 2 through training."""
    rows: list[Row] = []
    layers: list[Row] = []
    charts = []
    for part, setting in task.parts(SETTINGS[task.budget]):
        found = course(part, config(task, setting))
        rows += _stage_rows(found, setting)
        if setting.order == 1:  # a head of layer 1 for each token: at higher orders there is no single alignment score
            layers.append(_layer_row(found))
        charts.append(_chart(found, f"order {setting.order}, S = {setting.alphabet_size}, {setting.model}"))
    caption = (
        "D(strategy ‖ model) in nats during training, mean and standard deviation over seeds. The lowest curve is the "
        "nearest strategy: uniform, then unigram, then longer orders."
    )
    return Result(
        {"stages": Table(STAGES, rows), "layers": Table(LAYERS, layers)},
        {"stages": Plot(caption, charts, width=4.2, height=3.4)},
        settings={"data": "Dirichlet(1) rows", "models": "two layers of attention alone"},
        preset="fast",
        config=config(task, SETTINGS[task.budget][0]),
    )


def _layer_row(found: Course) -> Row:
    first, second = ([formed(found.steps, own) for own in each] for each in (found.layer_1, found.layer_2))
    return {
        "order": 1,
        "layer_1": spread(first),
        "layer_2": spread(second),
        "layer_2_later": spread(np.subtract(second, first)),
        "layer_1_at_end": spread(found.layer_1[:, -1]),
        "layer_2_at_end": spread(found.layer_2[:, -1]),
    }


def _stage_rows(found: Course, setting: Setting) -> list[Row]:
    nearest = found.nearest()
    hits = sum(passes(own, len(found.names)) for own in nearest)
    low, high = wilson(hits, len(nearest))
    stretches = [[longest(own == number) for own in nearest] for number in range(len(found.names))]
    return [
        {
            "order": setting.order,
            "model": setting.model,
            "symbols": setting.alphabet_size,
            "strategy": name,
            "seeds_that_pass_all": hits,
            "share_from": low,
            "share_to": high,
            "nearest_share_of_run": spread((nearest == number).mean(axis=1)),
            "seeds_with_a_stage": sum(length >= LONG for _, length in stretches[number]),
            "begins": spread([found.steps[begin] for begin, length in stretches[number] if length >= LONG]),
            "closest": spread(found.distances[:, :, number].min(axis=1)),
        }
        for number, name in enumerate(found.names)
    ]


def _deviations(own: Float[np.ndarray, "seeds times"]) -> list[float] | None:
    return own.std(axis=0, ddof=1).tolist() if len(own) > 1 else None


def _chart(found: Course, title: str) -> Chart:
    steps = found.steps.tolist()
    names = {UNIFORM: "uniform", "order-0": "unigram", "order-1": "bigram", "order-2": "trigram"}
    lines = [
        Series(names[name], steps, own.mean(axis=0).tolist(), _deviations(own), "-", number)
        for number, (name, own) in enumerate(zip(found.names, np.moveaxis(found.distances, 2, 0), strict=True))
    ]
    return Chart("step", "D(strategy ‖ model)", lines, title, from_zero=True)


ARRIVALS = (
    "The first step at which D(order-1 ‖ model) is at most half of D(order-1 ‖ uniform) (`arrives`), the share of the "
    "run in which the unigram is the nearest strategy, and D(order-1 ‖ model) at the end (`end`), in nats; mean ± "
    "standard deviation over the seeds that arrive."
)


@experiment(
    "Chains with uninformative unigrams",
    "the section on the prior over chains: doubly stochastic kernels",
    {"tiny": 0.3, "quick": 1.2, "paper": 15},
    paper="Where all symbols are equally frequent the unigram is useless, and the bigram is learnt faster: the simpler "
    "solution delays the right one.",
    reading="Doubly stochastic kernels, mixtures of all permutations, whose rows are marginally Dirichlet(1), like "
    "those of the other chains. The budget paper also trains models of the paper's repository, which are judged.",
    on_page=OnPage(("unigram-free",)),
)
def unigram_free(task: Task) -> Result:
    """Compare arrival at the bigram on doubly stochastic kernels and on Dirichlet rows."""
    rows: list[Row] = []
    charts = []
    base = SETTINGS[task.budget][0]
    settings = [
        base._replace(prior=prior, model=model, steps=2000 if model == THEIRS else base.steps)
        for model in COMPARED[task.budget]
        for prior in (DIRICHLET, DOUBLY)
    ]
    for part, setting in task.parts(settings):
        found = course(part, config(task, setting))
        steps = arrives(found)
        rows.append(
            {
                "model": setting.model,
                "prior": setting.prior,
                "arrives": spread([step for step in steps if step is not None]),
                "seeds_that_arrive": sum(step is not None for step in steps),
                "unigram_share_of_run": spread((found.nearest() == found.names.index("order-0")).mean(axis=1)),
                "end": spread(found.distances[:, -1, -1]),
            }
        )
        charts.append(_chart(found, f"{setting.prior}, {setting.model}"))
    caption = (
        "D(strategy ‖ model) in nats on both priors, mean and standard deviation over seeds: the lowest curve is the "
        "nearest strategy."
    )
    return Result(
        {"arrivals": Table(ARRIVALS, rows)},
        {"unigram-free": Plot(caption, charts, width=4.2, height=3.4)},
        settings={"data": f"order 1, {base.alphabet_size} symbols", "models": "two layers of attention alone"},
        preset="fast",
        config=config(task, settings[0]),
    )


EXPERIMENTS = (stages, unigram_free)
