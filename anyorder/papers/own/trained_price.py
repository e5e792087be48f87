"""Trained models next to their bounds: the gap of one layer, two layers, a convolution and a recurrence of one size.

Every kind of model has a lower bound and a certified construction (docs/price.md). Here models of each kind, with about
the same number of parameters, are trained on chains and on key-value recall. The rule for reaching the floor is in
docs/rules.md, written before the runs.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import jax.numpy as jnp
import numpy as np
from jaxtyping import Int

from anyorder.constructions import bounds
from anyorder.constructions.parameters import count_arrays
from anyorder.constructions.price import price
from anyorder.io.atomic import Row
from anyorder.io.numerics import DTYPES, mantissa_bits
from anyorder.models import Transformer
from anyorder.models.streaming import begin
from anyorder.papers.experiment import Budget, Result, Table, Task, experiment
from anyorder.papers.figure_data import MARKS, Chart, Plot, Series, placed
from anyorder.sweeps.analysis import spread
from anyorder.training.config import Config, Data, changed, preset
from anyorder.training.predictions import predictions
from anyorder.training.reference import held_out
from anyorder.training.run import Trained

#: Gaps in nats: a kind reaches the floor if all seeds are at most the first, and stays above if all exceed the second.
REACHES, ABOVE = 0.0015, 0.01
#: Recall is solved if the accuracy of every seed is at least this.
SOLVES = 0.99
#: Held-out sequences, and bits of a float32.
COUNT, WORD = 2048, 32


class Kind(NamedTuple):
    """Models of one kind: changes to the preset `fast`, widths by parameters, and the certified model of this kind."""

    changes: Mapping[str, object]
    widths: Mapping[str, int]
    certified: str


KINDS = {
    "one-layer attention": Kind({"layers": 1, "heads": 4}, {"1e4": 32, "1e5": 112}, "one-layer"),
    "two-layer attention": Kind({"layers": 2}, {"1e4": 24, "1e5": 80}, "unrolled"),
    "convolution + attention": Kind({"layers": 1, "mixer": "convolution"}, {"1e4": 32, "1e5": 112}, "convolution"),
    "one-layer Mamba": Kind({"layers": 1, "mixer": "mamba"}, {"1e4": 24, "1e5": 104}, "recurrent"),
}


#: Constructions whose bound is a number of bits.
IN_BITS = ("one-layer", "recurrent")


class Trial(NamedTuple):
    """One kind of model of one size on one source; recall has the order 1."""

    kind: str
    size: str
    data: Data


def recall(pairs: int) -> Data:
    """Key-value recall with this many pairs and eight values.

    >>> recall(16).source.prior.pairs(recall(16).tokens)
    16
    """
    return Data(prior="recall", order=1, alphabet_size=9, length=2 * pairs + 1)


#: Binary chains and recall by budget: the sources with models of about 10^4 parameters, and those with 10^5.
SOURCES: dict[Budget, tuple[list[Data], list[Data]]] = {
    "tiny": ([Data(order=1, length=8), recall(2)], []),
    "quick": ([Data(order=1, length=32), Data(order=2, length=32), recall(4)], []),
    "paper": (
        [*(Data(order=k, length=t) for k, t in ((1, 32), (2, 32), (3, 64), (4, 128))), *map(recall, (4, 16, 64))],
        [Data(order=3, length=64)],
    ),
}


def trials(budget: Budget) -> list[Trial]:
    """All trials of a budget.

    >>> len(trials("paper"))
    32
    """
    small, large = SOURCES[budget]
    sized = [*(("1e4", data) for data in small), *(("1e5", data) for data in large)]
    return [Trial(kind, size, data) for size, data in sized for kind in KINDS]


def config(task: Task, trial: Trial) -> Config:
    """The recipe of `fast` with exact targets for this order and mixer, 2,048 tokens per step; measured at the end."""
    kind, data = KINDS[trial.kind], trial.data
    changes: dict[str, Any] = {"dimension": kind.widths[trial.size], "targets": "exact", **kind.changes}
    if data.prior == "recall" or trial.size == "1e5":
        changes["steps"] = 1000 if data.prior == "recall" else 800
    if task.budget == "tiny":
        changes |= {"dimension": 8, "steps": 20, "evaluation_count": 128}
    made = dataclasses.replace(preset(order=data.order, **{"evaluation_count": COUNT} | changes), data=data)
    least = 32 if data.prior == "recall" else 1  # only the last token of a sequence queries a value
    batch = min(64, max(2048 // data.length, least))
    rest = {"seeds": task.seeds, "batch": batch, "checkpoint_every": 200}
    return changed(made, {**rest, "evaluate_every": made.optimisation.steps})


def pays(kind: str, model: Transformer) -> int:
    """The amount of the bounded quantity that a trained model has; its numbers are float32.

    One layer: bits through the heads, h(m + 2)W. Two: mantissa bits. A convolution: taps. Mamba: bits of state.
    """
    layer = model.layers[0]
    match KINDS[kind].certified:
        case "one-layer":
            return sum(len(head.value) + 2 for head in layer.heads) * WORD
        case "convolution":
            return len(np.asarray(layer.convolution))
        case "recurrent":
            return sum(memory.size for memory in begin(model)) * WORD
    return mantissa_bits(DTYPES["float32"])


def judged(gaps: Sequence[float]) -> str:
    """The verdict of the rule on the gaps of all seeds.

    >>> judged([0.001, 0.0014]), judged([0.001, 0.002]), judged([0.02, 0.03])
    ('reaches', 'between', 'above')
    """
    return "reaches" if max(gaps) <= REACHES else "above" if min(gaps) >= ABOVE else "between"


def by_frequency(tokens: Int[np.ndarray, "count tokens"]) -> float:
    """Accuracy of guessing the most frequent value regardless of its key; ties go to the smallest.

    >>> by_frequency(np.array([[0, 1, 3, 1, 0, 2, 3, 1], [0, 1, 0, 1, 3, 2, 3, 2]]))
    0.5
    """
    values = tokens[:, 1:-2:2]
    guesses = [np.bincount(row).argmax() for row in values]
    return float((np.array(guesses) == tokens[:, -1]).mean())


def accuracy(model: Transformer, tokens: Int[np.ndarray, "count tokens"]) -> float:
    """The share of sequences whose last token is the most probable one under the model."""
    rows, _ = predictions(model, jnp.asarray(tokens[:, :-1]), model.alphabet_size)
    return float((rows[:, -1].argmax(axis=-1) == tokens[:, -1]).mean())


def chain_row(trial: Trial, run: Trained) -> Row:
    """Gaps to the floor of a chain, and costs between the lower bound and the certified model."""
    kind, data, summary = KINDS[trial.kind], trial.data, run.summary
    asked = {"order": data.order, "alphabet_size": data.alphabet_size, "length": data.length}
    certified = price(kind.certified, dtype="float32", **asked)
    gaps = spread([model.gap for model in summary.models if model.gap is not None])
    low, high = gaps.interval if len(run.models) > 1 else (None, None)
    return {
        "model": trial.kind,
        "size": trial.size,
        "order": data.order,
        "length": data.length,
        "parameters": count_arrays(run.models[0]),
        "floor": summary.reference.floor_excess,
        "gap": gaps,
        "gap_from": low,
        "gap_to": high,
        "gap_error": max(model.gap_error or 0.0 for model in summary.models),
        "verdict": judged(gaps.seeds or []),
        "unit": certified.unit,
        "at_least": certified.least,
        "trained": pays(trial.kind, run.models[0]),
        "certified": certified.pays,
        "certified_parameters": certified.parameters,
    }


def recall_row(trial: Trial, run: Trained, count: int) -> Row:
    """Accuracies of recall, next to a guess by frequency and to the number of pairs that Theorem A allows."""
    data, tokens = trial.data, np.asarray(held_out(trial.data, count).tokens)
    found = spread([accuracy(model, tokens) for model in run.models])
    low, high = found.interval if len(run.models) > 1 else (None, None)
    bits, held = math.log2(data.alphabet_size - 1), pays(trial.kind, run.models[0])
    return {
        "model": trial.kind,
        "pairs": (data.length - 1) // 2,
        "length": data.length,
        "parameters": count_arrays(run.models[0]),
        "accuracy": found,
        "accuracy_from": low,
        "accuracy_to": high,
        "by_frequency": by_frequency(tokens),
        "solved": min(found.seeds or [0.0]) >= SOLVES,
        "bits": bounds.attention_bits(data.order, data.alphabet_size, data.length),
        "pairs_allowed": int(held / bits) if KINDS[trial.kind].certified == "one-layer" else None,
    }


CHAINS = (
    "Gap to the Bayes floor in nats per token, mean ± standard deviation over seeds, with the 95% interval of the mean "
    "and the largest standard error of the evaluation set; and the quantity bounded for models of this kind: lower "
    "bound, trained model, certified model (float32)."
)
RECALL = (
    "Share of marked values that are recalled, mean ± standard deviation over seeds, with the 95% interval of the "
    "mean; next to guessing the most frequent value, the bits that the heads of one attention layer must transmit for "
    "all answers to be right, and the pairs that Theorem A allows these heads. The other kinds have no such bound."
)


@experiment(
    "What training finds: one layer, two layers, a convolution, a recurrence",
    "ours; next to lower bounds and certified models",
    {"tiny": 0.8, "quick": 6, "paper": 40},
    reading=f"Models of about 10^4 parameters, and of 10^5 at (k, T) = (3, 64). A kind reaches the floor if its gap is "
    f"at most {REACHES} nats in every seed, it stays above if it is at least {ABOVE} in every seed, and lies between "
    f"otherwise. Recall is solved if the accuracy is at least {SOLVES} in every seed.",
)
def trained_price(task: Task) -> Result:
    """Train every kind of model on every source; gaps and accuracies next to bounds and certified models."""
    gaps: list[Row] = []
    recalled: list[Row] = []
    for part, trial in task.parts(trials(task.budget)):
        asked = config(task, trial)
        run = part.train(asked)
        if trial.data.prior == "recall":
            recalled.append(recall_row(trial, run, asked.measurement.evaluation_count))
        else:
            gaps.append(chain_row(trial, run))
    return Result(
        {"chains": Table(CHAINS, gaps), "recall": Table(RECALL, recalled)},
        {"trained-price": chart(gaps, recalled)},
        settings={"data": "two symbols, Dirichlet(1) rows; recall of order 1 with eight values", "seeds": task.seeds},
        preset="fast",
        config=config(task, trials(task.budget)[0]),
    )


def seeds(rows: Sequence[Row], column: str) -> list[Series]:
    """A point for every seed, and a series for every kind of model, each a little to the right of the one before."""
    return [
        Series(
            kind,
            [row["place"] + 0.15 * (number - 1.5) for row in own for _ in row[column].seeds],
            [value for row in own for value in row[column].seeds],
            style=MARKS[number],
            colour=number,
        )
        for number, kind in enumerate(KINDS)
        if (own := [row for row in rows if row["model"] == kind])
    ]


def chart(gaps: Sequence[Row], recalled: Sequence[Row]) -> Plot:
    """Gaps by kind and source, bits between the bound and the certified model, and accuracy over the pairs."""
    at, cells = placed(gaps, lambda row: f"{row['order']}, {row['length']}" + ("\n10⁵" if row["size"] == "1e5" else ""))
    ends = [-0.4, len(cells) - 0.6]
    near = seeds(at, "gap")
    near += [Series("", ends, [level] * 2, style=":", colour="0.6") for level in (REACHES, ABOVE)]
    bits = []
    for number, kind in enumerate(KINDS):
        own = [row for row in at if row["model"] == kind and KINDS[kind].certified in IN_BITS]
        for column, style in (("certified", "-"), ("trained", ""), ("at_least", ":")):
            x, y = [row["place"] for row in own], [float(row[column]) for row in own]
            bits += [Series("", x, y, None, MARKS[number] + style, number)] if own else []
    asked, pairs = placed(recalled, lambda row: str(row["pairs"]))
    guess = {row["place"]: row["by_frequency"] for row in asked}
    answers = seeds(asked, "accuracy")
    answers.append(Series("most frequent value", list(guess), list(guess.values()), style="k_"))
    return Plot(
        "Left: gap to the floor at (k, T), a point for every seed; below the lower dotted line a model reaches the "
        "floor, above the upper one it stays away. Middle: bits through the heads of one layer and bits of Mamba's "
        "state; dotted the lower bound, points the trained model, solid the certified one. Right: accuracy of recall.",
        [
            Chart("order k, length T", "nats over the floor", near, "gap", "y", cells),
            Chart("order k, length T", "bits", bits, "price", "y", cells),
            Chart("pairs N", "accuracy", answers, "recall", "", pairs, from_zero=True),
        ],
        width=3.4,
        height=3.6,
    )
