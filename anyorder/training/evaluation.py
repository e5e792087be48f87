"""What is measured on a model: losses next to the true loss and the Bayes floor, and attention next to the ideal.

All on one evaluation set, whose key no training data can have. Losses are expectations over the true distribution of
the next token, in nats, over the predictions from a full window (tokens k … T); model and floor are compared on
the same sequences, so that the error of the gap is far below that of either loss.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Int

from anyorder import estimators
from anyorder.errors import InputError
from anyorder.estimators import Estimate
from anyorder.training import attention
from anyorder.training.config import Config, Data, structure
from anyorder.training.data import level, sequences
from anyorder.training.step import raised
from anyorder.transformer import Transformer

#: Sequences that are measured at once.
BATCH = 256

Losses = Float[np.ndarray, "count predicted"]


class EvaluationSet(NamedTuple):
    """Sequences, and what the truth, the Bayes predictor and the k-gram make of them.

    `floor` is the excess of the Bayes predictor over the true loss; None where it has no closed form, and `reason`
    says why. `missed` is the probability of tokens to which the k-gram gives zero, NaN where it is undefined.
    `queries` is the number of positions with a match, and `chance` the mass of uniform attention on the matches.
    """

    data: Data
    tokens: Int[Array, "count tokens"]
    truth: Float[Array, "count tokens symbols"]
    true: Losses
    floor: Losses | None
    reason: str | None
    missed: Losses
    chance: float
    queries: int


def evaluation_set(data: Data, count: int, seed: int) -> EvaluationSet:
    """Draw the set, and measure on it what does not depend on a model.

    >>> evaluation_set(Data(order=1, length=8), 16, 0).true.shape
    (16, 8)
    """
    key = jax.random.fold_in(jax.random.key(seed), 2)  # training folds in 0 and 1
    reason, kind = no_floor(data), structure(Config(data=data)).data
    amount = jnp.float64(level(data))  # numbers are inputs: another level compiles nothing
    drawn = sequences(key, kind, count, gamma=jnp.float64(data.gamma), amount=amount)
    compared = _compare(drawn.tokens, drawn.truth, amount, kind, reason is None)
    true, floor, missed, (masses, queries) = jax.tree.map(np.asarray, compared)
    total = int(queries.sum())
    chance = float(masses.sum() / max(total, 1))
    return EvaluationSet(data, drawn.tokens, drawn.truth, true, floor, reason, missed, chance, total)


@eqx.filter_jit
def _compare(tokens: Array, truth: Array, amount: Float[Array, ""], data: Data, floored: bool) -> Any:
    """The compiled part of `evaluation_set`."""

    def each(tokens: Int[Array, "tokens"], truth: Float[Array, "tokens symbols"]) -> Any:
        kgram = estimators.kgram(tokens, order=data.order, alphabet_size=data.alphabet_size)
        missed = estimators.missed_probability(kgram, truth)
        true = estimators.true_loss(truth)
        floor = None
        if floored:
            floor = (estimators.exact_loss(bayes(data, tokens, amount).probabilities, truth) - true)[data.order - 1 :]
        counted = attention.uniform_sums(tokens[:-1], data.order)
        return true[data.order - 1 :], floor, missed[data.order - 1 :], counted

    return jax.lax.map(lambda one: each(*one), (tokens, truth), batch_size=BATCH)


def no_floor(data: Data) -> str | None:
    """Why the Bayes predictor of these chains has no closed form, or None if it has one.

    >>> no_floor(Data()), no_floor(Data(token_noise=0.1))
    (None, 'token noise hides the chain: its Bayes predictor has no closed form')
    """
    if data.token_noise:
        return "token noise hides the chain: its Bayes predictor has no closed form"
    if data.prior != "dirichlet":
        return f"rows of the {data.prior} prior are not Dirichlet: its Bayes predictor has no closed form"
    if data.start != "uniform":
        return "a stationary start depends on the kernel: its Bayes predictor has no closed form"
    if data.transition_noise:
        try:
            jax.eval_shape(lambda tokens: bayes(data, tokens), jax.ShapeDtypeStruct((data.tokens,), jnp.int32))
        except InputError as error:
            return str(error)
    return None


def bayes(data: Data, tokens: Int[Array, "tokens"], amount: Float[Array, ""] | None = None) -> Estimate:
    """The predictor that no other beats on average over these chains; `amount` replaces the level of the noise."""
    if data.transition_noise:
        return estimators.bayes_under_transition_noise(
            tokens,
            order=data.order,
            alphabet_size=data.alphabet_size,
            strength=data.transition_noise if amount is None else amount,
            concentration=data.concentration,
        )
    return estimators.add_beta(tokens, order=data.order, alphabet_size=data.alphabet_size, beta=data.concentration)


def reference(evaluation: EvaluationSet) -> dict[str, Any]:
    """True loss, floor and k-gram of the set, ready for JSON.

    >>> reference(evaluation_set(Data(order=1, length=8), 16, 0))["kgram"]["excess"] is None
    True
    """
    true, missed = estimators.summarise(evaluation.true), estimators.summarise(evaluation.missed)
    floor = None if evaluation.floor is None else estimators.summarise(evaluation.floor)
    infinite = bool((evaluation.missed > 0).any())
    return {
        "true_loss": true.mean,
        "true_loss_error": true.standard_error,
        "floor_excess": None if floor is None else floor.mean,
        "floor_excess_error": None if floor is None else floor.standard_error,
        "no_floor": evaluation.reason,
        # Zero for a token that can come costs infinity: what is finite is how often and how much that is.
        "kgram": {
            "excess": None,
            "infinite": infinite,
            "coverage": missed.coverage,
            "missed_probability": missed.mean,
            "missed_probability_error": missed.standard_error,
        },
        "chance_matching_mass": evaluation.chance,
        "position": list(range(evaluation.data.order, evaluation.data.tokens)),
        "true_loss_by_position": true.position_mean.tolist(),
        "floor_excess_by_position": None if floor is None else floor.position_mean.tolist(),
    }


def evaluate(model: Transformer, evaluation: EvaluationSet) -> dict[str, Any]:
    """All that is measured on a model, ready for JSON; see docs/training.md for every name."""
    return summary(measure(model, evaluation), evaluation)


def measure(model: Transformer, evaluation: EvaluationSet) -> Any:
    """The compiled part of `evaluate`: returns at once, with arrays that may still be on their way."""
    weights, frame = eqx.partition(model, eqx.is_inexact_array)
    return _measure(weights, frame, evaluation.tokens, evaluation.truth, evaluation.data.order)


@eqx.filter_jit
def _measure(weights: Any, frame: Any, tokens: Array, truth: Array, order: int) -> Any:
    model = eqx.combine(weights, frame)

    def each(item: tuple[Array, Array]) -> tuple[Array, tuple[attention.Sums, ...]]:
        tokens, truth = item
        read = tokens[:-1]
        trace = model.trace(read)
        predicted = trace.probabilities.astype(jnp.float64)
        predicted = predicted if model.output_map == "softmax" else raised(predicted)
        # Losses align row n with token n + 1 and drop the last row, which has no token: here it is a filler.
        predicted = jnp.concatenate([predicted, predicted[-1:]])
        excess = estimators.exact_loss(predicted, truth) - estimators.true_loss(truth)
        layers = tuple(attention.sums(weights.astype(jnp.float64), read, order) for weights in trace.attention)
        return excess[order - 1 :], layers

    return jax.lax.map(each, (tokens, truth), batch_size=BATCH)


def summary(measured: Any, evaluation: EvaluationSet) -> dict[str, Any]:
    """Means and standard errors of what `measure` gave."""
    excesses, layers = jax.tree.map(np.asarray, measured)
    excess = estimators.summarise(excesses)
    gap = None if evaluation.floor is None else estimators.summarise(excesses - evaluation.floor)
    true = float(evaluation.true.mean())
    return {
        "loss": true + excess.mean,
        "true_loss": true,
        "excess": excess.mean,
        "excess_error": excess.standard_error,
        "gap": None if gap is None else gap.mean,
        "gap_error": None if gap is None else gap.standard_error,
        "excess_by_position": excess.position_mean.tolist(),
        "excess_by_position_error": excess.position_error.tolist(),
        "gap_by_position": None if gap is None else gap.position_mean.tolist(),
        "gap_by_position_error": None if gap is None else gap.position_error.tolist(),
        "attention": [
            [_head(attention.Sums(*(values[:, head] for values in sums)), evaluation) for head in range(heads)]
            for sums in layers
            for heads in [sums.matching.shape[1]]
        ],
    }


def _head(sums: attention.Sums, evaluation: EvaluationSet) -> dict[str, Any]:
    """One head, from the sums of every sequence."""
    data, count = evaluation.data, len(sums.distance)
    return {
        "matching_mass": float(sums.matching.sum() / max(evaluation.queries, 1)),
        "matching_share": float(sums.share.sum() / max(evaluation.queries, 1)),
        "beginning_mass": float(sums.beginning.mean() / data.length),
        "offset_mass": (sums.offsets.mean(axis=0) / (data.length - data.order)).tolist(),
        "distance": float(sums.distance.mean()),
        "distance_error": float(sums.distance.std(ddof=1) / np.sqrt(count)),
    }
