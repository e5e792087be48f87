"""What is measured on a model: losses next to the true loss and the Bayes floor, and attention next to the ideal.

All on one evaluation set, whose key no training data can have. Losses are expectations over the true distribution of
the next token, in nats, over the predictions from a full window (tokens k … T); model and floor are compared on
the same sequences, so that the error of the gap is far below that of either loss.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Int

from anyorder import estimators
from anyorder.chains import Chains, Source
from anyorder.chains.random import Seed, as_key
from anyorder.errors import require
from anyorder.estimators import matching, pseudo_attention
from anyorder.estimators.match_lengths import by_length, match_lengths
from anyorder.estimators.unknown_order import of_order
from anyorder.io.notebook import as_html
from anyorder.models import Transformer
from anyorder.training.config import Data
from anyorder.training.devices import cores
from anyorder.training.step import as_distributions

#: Sequences that are measured at once: few, so that their attention maps stay in the cache of a core.
BATCH = 32
#: A query may give all its mass to the beginning token; what is left is then this, not zero.
TINY = 1e-9
#: Spectra have the match lengths up to the order, and this many more.
LENGTHS_ABOVE_ORDER = 2

Losses = Float[np.ndarray, "count predicted"]


@dataclasses.dataclass(frozen=True)
class KGram:
    """The k-gram on an evaluation set; where `infinite`, it gave zero to a token that can come."""

    infinite: bool
    coverage: float
    missed_probability: float
    missed_probability_error: float


@dataclasses.dataclass(frozen=True)
class FixedOrder:
    """Add-β smoothing of one order on chains of unknown order; counts leave out the opening, as the floor's do."""

    order: int
    excess: float
    excess_error: float


@dataclasses.dataclass(frozen=True)
class Reference:
    """What an evaluation set says without a model: true loss, Bayes floor, k-gram, and what chance gives."""

    true_loss: float
    true_loss_error: float
    floor_excess: float | None
    floor_excess_error: float | None
    no_floor: str | None
    kgram: KGram
    fixed_orders: list[FixedOrder]
    chance_matching_mass: float
    position: list[int]
    true_loss_by_position: list[float]
    floor_excess_by_position: list[float] | None

    def __repr__(self) -> str:
        floor = self.no_floor if self.floor_excess is None else f"Bayes floor {self.floor_excess:.4f} above it"
        return f"Reference(true loss {self.true_loss:.4f} nats, {floor})"


class EvaluationSet(NamedTuple):
    """Sequences, and what is known of them without a model.

    `true` is the true loss at every prediction, and `floor` the excess of the Bayes predictor over it; None where that
    has no closed form. `queries` is the number of positions with a match.
    """

    source: Source
    tokens: Int[Array, "count tokens"]
    truth: Float[Array, "count tokens symbols"]
    true: Losses
    floor: Losses | None
    queries: int
    reference: Reference

    def __repr__(self) -> str:
        (count, length), source = self.tokens.shape, self.source
        chains = f"{count} sequences of {length} tokens, order {source.order} over {source.alphabet_size} symbols"
        return f"EvaluationSet({chains}, true loss {self.reference.true_loss:.4f} nats)"


@dataclasses.dataclass(frozen=True)
class HeadAttention:
    """One head: its mass on matches, on the beginning token and at offsets 1 … k, and its distance to the ideal.

    `spectrum` is attention over chance at match lengths 0 … k + 2, as the probe has it (docs/probe.md).
    """

    matching_mass: float
    matching_share: float
    beginning_mass: float
    offset_mass: list[float]
    distance: float
    distance_error: float
    spectrum: list[float | None]


@dataclasses.dataclass(frozen=True, kw_only=True)
class Evaluation:
    """All that is measured on a model; docs/training.md explains every name. `attention` is by layer and head."""

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
    attention: list[list[HeadAttention]]

    def __repr__(self) -> str:
        gap = "" if self.gap is None else f", gap to the floor {self.gap:+.5f} ± {self.gap_error:.5f}"
        return f"{type(self).__name__}(excess {self.excess:.4f} ± {self.excess_error:.4f}{gap} nats)"

    def _repr_html_(self) -> str:
        masses = {
            f"layer {number}, matching mass": [head.matching_mass for head in heads]
            for number, heads in enumerate(self.attention, start=1)
        }
        return as_html(repr(self), {"loss": self.loss, "true_loss": self.true_loss, **masses})


def held_out(data: Data, count: int, seed: Seed = 0) -> Chains:
    """The sequences of an evaluation set, each from a kernel of its own, with nothing measured on them.

    >>> held_out(Data(order=1, length=8), 16)
    Chains(16 sequences of 9 tokens, order 1 over 2 symbols)
    """
    require(isinstance(data, Data), f"the data is a {type(data).__name__}, must be a `training.Data`")
    key = jax.random.fold_in(as_key(seed), 2)  # training folds in 0 and 1
    return data.source.as_inputs(jnp.float64).sample(key, count)


def evaluation_set(data: Data, count: int, seed: Seed = 0) -> EvaluationSet:
    """Draw the set, and measure on it what does not depend on a model.

    >>> evaluation_set(Data(order=1, length=8), 16).true.shape
    (16, 8)
    """
    drawn = held_out(data, count, seed)
    source = data.source.as_inputs(jnp.float64)
    true, floor, missed, fixed, (masses, queries) = jax.tree.map(
        np.asarray, _compare(source, drawn.tokens, drawn.truth)
    )
    losses, zero = estimators.summarise(true), estimators.summarise(missed)
    bayes = None if floor is None else estimators.summarise(floor)
    by_order = {order: estimators.summarise(excess) for order, excess in fixed.items()}
    total = int(queries.sum())
    about = Reference(
        true_loss=losses.mean,
        true_loss_error=losses.standard_error,
        floor_excess=None if bayes is None else bayes.mean,
        floor_excess_error=None if bayes is None else bayes.standard_error,
        no_floor=estimators.floor(source).reason,
        # Zero for a token that can come costs infinity: what is finite is how often and how much that is.
        kgram=KGram(bool((missed > 0).any()), zero.coverage, zero.mean, zero.standard_error),
        fixed_orders=[FixedOrder(order, found.mean, found.standard_error) for order, found in by_order.items()],
        chance_matching_mass=float(masses.sum() / max(total, 1)),
        position=list(range(source.order, source.length)),
        true_loss_by_position=losses.position_mean.tolist(),
        floor_excess_by_position=None if bayes is None else bayes.position_mean.tolist(),
    )
    return EvaluationSet(source, drawn.tokens, drawn.truth, true, floor, total, about)


Compared = tuple[Array, Array | None, Array, dict[int, Array], tuple[Array, Array]]
"""Of every sequence: the true loss, the excess of the Bayes predictor, the probability of tokens to which the k-gram
gives zero (NaN where it is undefined), the excess of add-β smoothing of each order where the order is unknown, and what
`uniform_sums` gives."""


@eqx.filter_jit
def _compare(
    source: Source, tokens: Int[Array, "count tokens"], truth: Float[Array, "count tokens symbols"]
) -> Compared:
    """The compiled part of `evaluation_set`."""
    order, size, predictor = source.order, source.alphabet_size, estimators.floor(source)
    orders = source.prior.orders if len(source.prior.orders) > 1 else ()
    beta = getattr(source.prior, "concentration", 1.0)

    def each(tokens: Int[Array, "tokens"], truth: Float[Array, "tokens symbols"]) -> Compared:
        kgram = estimators.kgram(tokens, order=order, alphabet_size=size)
        missed = estimators.missed_probability(kgram, truth)
        true = estimators.true_loss(truth)

        def excess(rows: Float[Array, "tokens symbols"]) -> Float[Array, "predicted"]:
            return (estimators.exact_loss(rows, truth) - true)[order - 1 :]

        floor = None if predictor.reason else excess(predictor(tokens).probabilities)
        fixed = {k: excess(of_order(tokens, k, order, size, beta)[1]) for k in orders}
        return true[order - 1 :], floor, missed[order - 1 :], fixed, uniform_sums(tokens[:-1], order)

    return jax.lax.map(lambda one: each(*one), (tokens, truth), batch_size=BATCH)


def evaluate(model: Transformer, evaluation: EvaluationSet) -> Evaluation:
    """Measure a model on the set.

    >>> from anyorder.constructions import construct
    >>> model = construct("bigram", order=1, alphabet_size=2, length=8)
    >>> evaluate(model, evaluation_set(Data(order=1, length=8), 16)).attention[1][0].matching_mass > 0.999
    True
    """
    for value, name, kind in ((model, "model", Transformer), (evaluation, "evaluation set", EvaluationSet)):
        require(isinstance(value, kind), f"the {name} is a {type(value).__name__}, must be of type {kind.__name__}")
    size = evaluation.source.alphabet_size
    require(
        model.alphabet_size == size,
        f"the model has {model.alphabet_size} symbols, the evaluation set {size}; draw one with its alphabet size",
    )
    measured = _measure(model, evaluation.tokens, evaluation.truth, evaluation.source.order)
    excesses, layers = jax.tree.map(np.asarray, measured)
    excess = estimators.summarise(excesses)
    gap = None if evaluation.floor is None else estimators.summarise(excesses - evaluation.floor)
    true = float(evaluation.true.mean())
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
        attention=[
            [_head(Sums(*(values[:, head] for values in sums)), evaluation) for head in range(sums.matching.shape[1])]
            for sums in layers
        ],
    )


def evaluate_each(models: Sequence[Transformer], evaluation: EvaluationSet) -> list[Evaluation]:
    """Measure several models on the set, side by side on the cores of this machine."""
    with ThreadPoolExecutor(min(len(models), cores())) as pool:
        return list(pool.map(lambda model: evaluate(model, evaluation), models))


@eqx.filter_jit
def _measure(model: Transformer, tokens: Array, truth: Array, order: int) -> tuple[Array, tuple[Sums, ...]]:
    def each(item: tuple[Array, Array]) -> tuple[Array, tuple[Sums, ...]]:
        tokens, truth = item
        read = tokens[:-1]
        trace = model.trace(read)
        predicted = trace.probabilities.astype(jnp.float64)
        predicted = predicted if model.output_map == "softmax" else as_distributions(predicted)
        # Losses align row n with token n + 1 and drop the last row, which has no token: here it is a filler.
        predicted = jnp.concatenate([predicted, predicted[-1:]])
        excess = estimators.exact_loss(predicted, truth) - estimators.true_loss(truth)
        layers = tuple(sums(weights.astype(jnp.float64), read, order) for weights in trace.attention)
        return excess[order - 1 :], layers

    return jax.lax.map(each, (tokens, truth), batch_size=BATCH)


class Sums(NamedTuple):
    """Attention of one layer next to the ideal of Definition 2, as sums over the queries of one sequence.

    `matching`: mass on the positions that a k-gram counts, over the queries that have such positions. `beginning`:
    mass on the beginning token, over all queries. `offsets`: mass at offsets 1 … k, over the queries from k on.
    `distance`: Frobenius distance to the pseudo-attention map, where queries without a match have a row of zeros.
    `share`: like `matching`, as a fraction of the mass that does not lie on the beginning token. `by_length`: mass by
    match length 0 … k + 2, and the mass that the same attention spread evenly would have there.
    """

    matching: Float[Array, "heads"]
    beginning: Float[Array, "heads"]
    offsets: Float[Array, "heads order"]
    distance: Float[Array, "heads"]
    share: Float[Array, "heads"]
    by_length: Float[Array, "heads 2 lengths"]


def sums(weights: Float[Array, "heads rows rows"], tokens: Int[Array, "length"], order: int) -> Sums:
    """The sums of one layer; with a beginning token there is one row more than tokens."""
    length = len(tokens)
    beginning = jnp.zeros(len(weights), weights.dtype)
    if weights.shape[1] > length:
        beginning, weights = weights[:, 1:, 0].sum(axis=1), weights[:, 1:, 1:]
    queries = jnp.arange(order, length, dtype=jnp.int32)
    matched = (weights * matching.window_matches(tokens, order)).sum(axis=2)
    on_tokens = jnp.maximum(weights.sum(axis=2), jnp.asarray(TINY, weights.dtype))
    return Sums(
        matching=matched.sum(axis=1),
        beginning=beginning,
        offsets=jnp.stack(
            [weights[:, queries, queries - offset].sum(axis=1) for offset in range(1, order + 1)], axis=1
        ),
        distance=jnp.sqrt(jnp.square(weights - pseudo_attention(tokens, order)).sum(axis=(1, 2))),
        share=(matched / on_tokens).sum(axis=1),
        by_length=length_sums(weights, tokens, order + LENGTHS_ABOVE_ORDER),
    )


def length_sums(
    weights: Float[Array, "heads length length"], tokens: Int[Array, "length"], longest: int
) -> Float[Array, "heads 2 lengths"]:
    """Mass by match length, and what is expected of even attention, over the queries from `longest` on."""
    lengths = match_lengths(tokens, longest)
    found = by_length(weights.swapaxes(0, 1)[longest:], lengths[longest:], longest)
    return jnp.stack([values.sum(axis=0) for values in found], axis=1)


def uniform_sums(tokens: Int[Array, "length"], order: int) -> tuple[Float[Array, ""], Int[Array, ""]]:
    """The matching mass of uniform attention, and the number of queries that have a match.

    >>> total, queries = uniform_sums(jnp.asarray([0, 1, 0, 1, 0], jnp.int32), 1)
    >>> round(float(total), 4), int(queries)
    (0.9833, 3)
    """
    matches = matching.window_matches(tokens, order)
    fractions = matches.sum(axis=1) / jnp.arange(1, len(tokens) + 1, dtype=jnp.float64)
    return fractions.sum(), matches.any(axis=1).sum(dtype=jnp.int32)


def _head(sums: Sums, evaluation: EvaluationSet) -> HeadAttention:
    """One head, from the sums of every sequence."""
    order, length = evaluation.source.order, evaluation.source.length - 1
    mass, even = sums.by_length.sum(axis=0)
    distance, distance_error = map(float, estimators.mean_and_error(sums.distance))
    return HeadAttention(
        matching_mass=float(sums.matching.sum() / max(evaluation.queries, 1)),
        matching_share=float(sums.share.sum() / max(evaluation.queries, 1)),
        beginning_mass=float(sums.beginning.mean() / length),
        offset_mass=(sums.offsets.mean(axis=0) / (length - order)).tolist(),
        distance=distance,
        distance_error=distance_error,
        spectrum=[float(on / by_chance) if by_chance > 0 else None for on, by_chance in zip(mass, even, strict=True)],
    )
