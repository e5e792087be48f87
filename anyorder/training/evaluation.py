"""Evaluation of a model: losses next to the true loss and the Bayes floor, attention next to the ideal.

Model and floor are compared on the same sequences, so the standard error of the gap is far below that of either loss.
"""

from __future__ import annotations

import dataclasses
import warnings
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from anyorder import estimators
from anyorder.chains import Kernel, Prior, Source
from anyorder.chains.random import Seed
from anyorder.errors import require
from anyorder.io.gates import gated
from anyorder.io.notebook import as_html
from anyorder.models import Transformer
from anyorder.training.attention_sums import HeadAttention, Sums, layer_attention, sums
from anyorder.training.config import Data
from anyorder.training.devices import cores
from anyorder.training.predictions import BATCH, Output, predictions
from anyorder.training.reference import EvaluationSet, GivenFloor, Measured, evaluation_set
from anyorder.training.step import as_distributions

#: A model more than this many standard errors below a floor shows that it is not the Bayes floor.
SURE = 3
#: Rounding error of losses in float64, when model and floor are equal.
ROUNDING = 1e-9


@dataclasses.dataclass(frozen=True, kw_only=True)
class Evaluation:
    """All measurements of a model; docs/training.md explains every name. `attention` is by layer and head.

    `divergence` is D(reference ‖ model) for every reference predictor of the source; `follows` is the nearest one.
    `output` states whether rows were read as probabilities or logits; `note` is set if the model is below the floor.
    """

    loss: float
    true_loss: float
    excess: float
    excess_error: float
    gap: float | None
    gap_error: float | None
    excess_by_position: list[float]
    excess_by_position_error: list[float]
    gap_by_position: list[float] | None
    gap_by_position_error: list[float] | None
    divergence: dict[str, Measured]
    attention: list[list[HeadAttention]]
    output: Output = "probabilities"
    note: str | None = None

    @property
    def follows(self) -> str:
        """The name of the reference predictor nearest to the model."""
        return min(self.divergence, key=lambda name: self.divergence[name].mean)

    def __repr__(self) -> str:
        gap = "" if self.gap is None else f", gap to the floor {self.gap:+.5f} ± {self.gap_error:.5f}"
        return f"{type(self).__name__}(excess {self.excess:.4f} ± {self.excess_error:.4f}{gap} nats)"

    def _repr_html_(self) -> str:
        masses = {
            f"layer {number}, matching mass": [head.matching_mass for head in heads]
            for number, heads in enumerate(self.attention, start=1)
        }
        return as_html(repr(self), {"loss": self.loss, "true_loss": self.true_loss, **masses})


@gated
def evaluate(
    model: Any,
    source: EvaluationSet | Data | Source | Prior | Kernel,
    *,
    count: int = 1024,
    seed: Seed = 0,
    floor: GivenFloor | None = None,
    output: Output | None = None,
) -> Evaluation:
    """Measure a model, ours or any callable from one sequence of T tokens to rows (T, S), on fresh sequences or a set.

    count, seed: number and seed of the sequences; unused for an evaluation set.
    floor: replaces the source's own Bayes predictor.
    output: "probabilities" or "logits"; by default probabilities if all rows are distributions, and logits otherwise.

    >>> from anyorder.constructions import construct
    >>> model = construct("bigram", order=1, alphabet_size=2, length=8)
    >>> evaluate(model, Data(order=1, length=8), count=16).attention[1][0].matching_mass > 0.999
    True
    """
    drawn = source if isinstance(source, EvaluationSet) else evaluation_set(source, count, seed, floor=floor)
    found = _evaluated(model, drawn, output)
    if found.note is not None:
        warnings.warn(found.note, stacklevel=2)
    return found


def _evaluated(model: Any, evaluation: EvaluationSet, output: Output | None = None) -> Evaluation:
    size, order = evaluation.source.alphabet_size, evaluation.source.order
    layers: tuple[Sums, ...] = ()
    known = evaluation.truth, evaluation.references, order
    if isinstance(model, Transformer):
        require(
            model.alphabet_size == size,
            f"the model has {model.alphabet_size} symbols, the evaluation set {size}; draw one with its alphabet size",
        )
        taken: Output = "probabilities"
        measured, layers = _measure(model, evaluation.tokens, *known)
    else:
        rows, taken = predictions(model, evaluation.tokens[:, :-1], size, output)
        measured = _compare_rows(jnp.asarray(rows), *known)
    (excesses, divergences), layers = jax.tree.map(np.asarray, (measured, layers))
    excess = estimators.summarise(excesses)
    gap = None if evaluation.floor is None else estimators.summarise(excesses - evaluation.floor)
    true = float(evaluation.true.mean())
    below = gap is not None and gap.mean < -SURE * gap.standard_error - ROUNDING
    note = (
        f"the model is {-gap.mean:.2g} ± {gap.standard_error:.1g} nats below this floor, which is not the "
        "Bayes floor; give the Bayes predictor of the source"
        if gap is not None and below
        else None
    )
    return Evaluation(
        loss=true + excess.mean,
        true_loss=true,
        excess=excess.mean,
        excess_error=excess.standard_error,
        gap=None if gap is None else gap.mean,
        gap_error=None if gap is None else gap.standard_error,
        excess_by_position=excess.position_mean.tolist(),
        excess_by_position_error=excess.position_error.tolist(),
        gap_by_position=None if gap is None else gap.position_mean.tolist(),
        gap_by_position_error=None if gap is None else gap.position_error.tolist(),
        divergence={name: Measured.of(values) for name, values in divergences.items()},
        output=taken,
        note=note,
        attention=[layer_attention(sums, evaluation) for sums in layers],
    )


def evaluate_each(models: Sequence[Any], evaluation: EvaluationSet, output: Output | None = None) -> list[Evaluation]:
    """Measure several models on the set, side by side on the cores of this machine."""
    with ThreadPoolExecutor(min(len(models), cores())) as pool:
        return list(pool.map(lambda model: _evaluated(model, evaluation, output), models))


Rows = dict[str, Array]


#: The excess of a model over the true loss, and D(reference ‖ model) for every reference predictor.
Distances = tuple[Array, Rows]


def _distances(predicted: Float[Array, "length symbols"], truth: Array, references: Rows, order: int) -> Distances:
    # Losses align row n with token n + 1 and drop the last row, which has no token; here that row is a filler.
    predicted = jnp.concatenate([predicted, predicted[-1:]])

    def divergence(reference: Float[Array, "tokens symbols"]) -> Float[Array, "predicted"]:
        found = (estimators.exact_loss(predicted, reference) - estimators.true_loss(reference))[order - 1 :]
        return jnp.where(jnp.isnan(reference[order:]).any(axis=1), jnp.nan, found)

    return divergence(truth), {name: divergence(rows) for name, rows in references.items()}


@eqx.filter_jit
def _compare_rows(predicted: Array, truth: Array, references: Rows, order: int) -> Distances:
    return jax.vmap(partial(_distances, order=order))(predicted, truth, references)


@eqx.filter_jit
def _measure(
    model: Transformer, tokens: Array, truth: Array, references: Rows, order: int
) -> tuple[Distances, tuple[Sums, ...]]:
    def each(item: tuple[Array, Array, Rows]) -> tuple[Distances, tuple[Sums, ...]]:
        tokens, truth, references = item
        read = tokens[:-1]
        trace = model.trace(read)
        predicted = trace.probabilities.astype(jnp.float64)
        predicted = predicted if model.output_map == "softmax" else as_distributions(predicted)
        layers = tuple(sums(weights.astype(jnp.float64), read, order) for weights in trace.attention)
        return _distances(predicted, truth, references, order), layers

    return jax.lax.map(each, (tokens, truth, references), batch_size=BATCH)
