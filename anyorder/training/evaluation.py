"""Evaluation of a model: losses next to the true loss and the Bayes floor, attention next to the ideal.

Everything is measured on one evaluation set, drawn with a key that training never uses.
Losses are expectations over the true distribution of
the next token, in nats, over the predictions from a full window (tokens k … T); model and floor are compared on
the same sequences, so that the error of the gap is far below that of either loss.
"""

from __future__ import annotations

import dataclasses
import warnings
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import Any, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Int

from anyorder import estimators
from anyorder.chains import Chains, Kernel, Prior, Source, as_source
from anyorder.chains.random import Seed, as_key
from anyorder.errors import require
from anyorder.estimators import matching, pseudo_attention
from anyorder.estimators.match_lengths import by_length, match_lengths
from anyorder.estimators.registry import Estimator, find_estimator
from anyorder.io.gates import gated
from anyorder.io.notebook import as_html
from anyorder.models import Transformer
from anyorder.training.config import Data
from anyorder.training.devices import cores
from anyorder.training.predictions import BATCH, Output, predictions
from anyorder.training.step import as_distributions

#: Lower bound of the mass off the beginning token, which may otherwise be zero.
TINY = 1e-9
#: Match lengths in a spectrum beyond the order.
LENGTHS_ABOVE_ORDER = 2
#: A model more than this many standard errors below a floor shows that it is not the Bayes floor.
SURE = 3
#: Rounding error of losses in float64, when model and floor are equal.
ROUNDING = 1e-9

Losses = Float[np.ndarray, "count predicted"]
GivenFloor = Callable[..., Any] | Estimator | str
"""A floor given by the user: a function from one sequence to rows (T, S), or an estimator or its name."""


@dataclasses.dataclass(frozen=True)
class KGram:
    """The k-gram on an evaluation set; `infinite` if it gave probability zero to a possible token."""

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
class Measured:
    """A number in nats over all sequences: its mean, the standard error of that, and the mean at every position."""

    mean: float
    error: float
    by_position: list[float]


def _measured(values: Losses) -> Measured:
    found = estimators.summarise(values)
    return Measured(found.mean, found.standard_error, found.position_mean.tolist())


@dataclasses.dataclass(frozen=True)
class Reference:
    """The model-independent numbers of an evaluation set: true loss, Bayes floor, k-gram loss, and chance levels.

    `predictors` has the excess of every reference predictor (`estimators.references`).
    """

    true_loss: float
    true_loss_error: float
    floor_excess: float | None
    floor_excess_error: float | None
    no_floor: str | None
    kgram: KGram
    fixed_orders: list[FixedOrder]
    predictors: dict[str, Measured]
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
    is not known. `references` are the rows of every reference predictor, each aligned with the token that it predicts;
    `queries` is the number of positions with a match.
    """

    source: Source
    tokens: Int[Array, "count tokens"]
    truth: Float[Array, "count tokens symbols"]
    true: Losses
    floor: Losses | None
    references: dict[str, Float[Array, "count tokens symbols"]]
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
    """All that is measured on a model; docs/training.md explains every name. `attention` is by layer and head.

    `divergence` is D(reference ‖ model) for every reference predictor of the source: the least says which one the model
    follows. `output` says whether rows were read as probabilities or logits; `note` is set if the model is below the
    floor.
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
        """The name of the reference predictor that is nearest to the model."""
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


def _source(data: Data | Source | Prior | Kernel) -> Source:
    """The source described by `data`, with a kernel for each sequence."""
    source = data.source if isinstance(data, Data) else as_source(data)
    return dataclasses.replace(source, per_kernel=1).as_inputs(jnp.float64)


def held_out(data: Data | Source | Prior | Kernel, count: int, seed: Seed = 0) -> Chains:
    """The sequences of an evaluation set, each from a kernel of its own, with nothing measured on them.

    >>> held_out(Data(order=1, length=8), 16)
    Chains(16 sequences of 9 tokens, order 1 over 2 symbols)
    """
    key = jax.random.fold_in(as_key(seed), 2)  # training folds in 0 and 1
    return _source(data).sample(key, count)


@gated
def evaluation_set(
    data: Data | Source | Prior | Kernel, count: int, seed: Seed = 0, *, floor: GivenFloor | None = None
) -> EvaluationSet:
    """Draw the set and compute everything that does not depend on a model; `floor` replaces the source's own.

    >>> evaluation_set(Data(order=1, length=8), 16).true.shape
    (16, 8)
    """
    source, drawn = _source(data), held_out(data, count, seed)
    best = estimators.floor(source)
    given = {} if floor is None else {"floor": _given_rows(floor, source, drawn.tokens)}
    name = "floor" if given else best.name
    true, excesses, rows, missed, (masses, queries) = _compare(source, drawn.tokens, drawn.truth, given)
    true, excesses, missed, masses, queries = jax.tree.map(np.asarray, (true, excesses, missed, masses, queries))
    if given:
        wrong = np.argwhere(~np.isfinite(excesses["floor"]))
        require(
            len(wrong) == 0,
            f"the floor gives NaN, or zero to a token that can come, at position {source.order + wrong[:1, 1].sum()}; "
            "a Bayes predictor is defined and finite from a full window on",
        )
    losses, zero = estimators.summarise(true), estimators.summarise(missed)
    measured = {name: _measured(excess) for name, excess in excesses.items()}
    bayes, orders = measured.get(name), source.prior.orders
    by_order = {order: measured[f"order-{order}"] for order in (orders if len(orders) > 1 else ())}
    total = int(queries.sum())
    about = Reference(
        true_loss=losses.mean,
        true_loss_error=losses.standard_error,
        floor_excess=None if bayes is None else bayes.mean,
        floor_excess_error=None if bayes is None else bayes.error,
        no_floor=None if given else best.reason,
        # The k-gram's loss may be infinite, so its coverage and the missed probability are reported instead.
        kgram=KGram(bool((missed > 0).any()), zero.coverage, zero.mean, zero.standard_error),
        fixed_orders=[FixedOrder(order, found.mean, found.error) for order, found in by_order.items()],
        predictors=measured,
        chance_matching_mass=float(masses.sum() / max(total, 1)),
        position=list(range(source.order, source.length)),
        true_loss_by_position=losses.position_mean.tolist(),
        floor_excess_by_position=None if bayes is None else bayes.by_position,
    )
    return EvaluationSet(source, drawn.tokens, drawn.truth, true, excesses.get(name), rows, total, about)


def _given_rows(
    floor: GivenFloor, source: Source, tokens: Int[Array, "count tokens"]
) -> Float[Array, "count tokens symbols"]:
    """The rows of a user's floor, each aligned with the token that it predicts."""
    predictor: Any = floor
    if isinstance(floor, Estimator | str):
        predictor = partial(find_estimator(floor).predict, order=source.order, alphabet_size=source.alphabet_size)
    rows, _ = predictions(predictor, tokens[:, :-1], source.alphabet_size, "probabilities", "floor")
    return jnp.pad(jnp.asarray(rows), ((0, 0), (1, 0), (0, 0)))


Compared = tuple[Array, dict[str, Array], dict[str, Array], Array, tuple[Array, Array]]
"""Of every sequence: the true loss, the excess of every reference predictor and its rows, the probability of tokens to
which the k-gram gives zero (NaN where it is undefined), and what `uniform_sums` gives."""


@eqx.filter_jit
def _compare(
    source: Source,
    tokens: Int[Array, "count tokens"],
    truth: Float[Array, "count tokens symbols"],
    given: dict[str, Float[Array, "count tokens symbols"]],
) -> Compared:
    """The compiled part of `evaluation_set`."""
    order, size, predictors = source.order, source.alphabet_size, estimators.references(source)

    def each(tokens: Int[Array, "tokens"], truth: Float[Array, "tokens symbols"], given: dict[str, Array]) -> Compared:
        kgram = estimators.kgram(tokens, order=order, alphabet_size=size)
        missed = estimators.missed_probability(kgram, truth)
        true = estimators.true_loss(truth)

        def excess(rows: Float[Array, "tokens symbols"]) -> Float[Array, "predicted"]:
            return (estimators.exact_loss(rows, truth) - true)[order - 1 :]

        rows = {name: jnp.roll(predictor(tokens).probabilities, 1, axis=0) for name, predictor in predictors.items()}
        rows |= given
        excesses = {name: excess(jnp.roll(row, -1, axis=0)) for name, row in rows.items()}
        return true[order - 1 :], excesses, rows, missed[order - 1 :], uniform_sums(tokens[:-1], order)

    return jax.lax.map(lambda one: each(*one), (tokens, truth, given), batch_size=BATCH)


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
        divergence={name: _measured(values) for name, values in divergences.items()},
        output=taken,
        note=note,
        attention=[
            [_head(Sums(*(values[:, head] for values in sums)), evaluation) for head in range(sums.matching.shape[1])]
            for sums in layers
        ],
    )


def evaluate_each(models: Sequence[Any], evaluation: EvaluationSet, output: Output | None = None) -> list[Evaluation]:
    """Measure several models on the set, side by side on the cores of this machine."""
    with ThreadPoolExecutor(min(len(models), cores())) as pool:
        return list(pool.map(lambda model: _evaluated(model, evaluation, output), models))


Rows = dict[str, Array]
#: The excess of a model over the true loss, and D(reference ‖ model) for every reference predictor.
Distances = tuple[Array, Rows]


def _distances(predicted: Float[Array, "length symbols"], truth: Array, references: Rows, order: int) -> Distances:
    # Losses align row n with token n + 1 and drop the last row, which has no token: here it is a filler.
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


class Sums(NamedTuple):
    """Attention of one layer next to the ideal of Definition 2, as sums over the queries of one sequence.

    `matching`: mass on the positions that a k-gram counts, over the queries that have such positions. `beginning`:
    mass on the beginning token, over all queries. `offsets`: mass at offsets 1 … k, over the queries from k on.
    `distance`: Frobenius distance to the pseudo-attention map, where queries without a match have a row of zeros.
    `share`: like `matching`, as a fraction of the mass that does not lie on the beginning token. `by_length`: mass by
    match length 0 … k + 2, for this attention and for uniform attention of the same total mass.
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
    """Mass by match length, of the attention and of uniform attention, over the queries from `longest` on."""
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
