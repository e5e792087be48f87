"""Evaluation sets: sequences drawn with a key that training never uses, and their model-independent numbers.

Losses are expectations over the true distribution of the next token, in nats, over the predictions from a full window
(tokens k … T).
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
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
from anyorder.estimators.registry import Estimator, find_estimator
from anyorder.io.gates import gated
from anyorder.training.attention_sums import uniform_sums
from anyorder.training.config import Data
from anyorder.training.predictions import BATCH, predictions

Losses = Float[np.ndarray, "count predicted"]
Distributions = Float[Array, "count tokens symbols"]
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
    """Add-β smoothing of one order on chains of unknown order; counts exclude the opening, as for the floor."""

    order: int
    excess: float
    excess_error: float


@dataclasses.dataclass(frozen=True)
class Measured:
    """A quantity in nats: its mean over all sequences with standard error, and the mean at every position."""

    mean: float
    error: float
    by_position: list[float]

    @classmethod
    def of(cls, values: Losses) -> Measured:
        """The quantity from its values on every sequence at every position."""
        found = estimators.summarise(values)
        return cls(found.mean, found.standard_error, found.position_mean.tolist())


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
    """Sequences, and their model-independent numbers.

    `true` is the true loss at every prediction, and `floor` the excess of the Bayes predictor, None if unknown.
    `references` are the rows of every reference predictor, each aligned with the token that it predicts;
    `queries` is the number of positions with a match.
    """

    source: Source
    tokens: Int[Array, "count tokens"]
    truth: Distributions
    true: Losses
    floor: Losses | None
    references: dict[str, Distributions]
    queries: int
    reference: Reference

    def __repr__(self) -> str:
        (count, length), source = self.tokens.shape, self.source
        chains = f"{count} sequences of {length} tokens, order {source.order} over {source.alphabet_size} symbols"
        return f"EvaluationSet({chains}, true loss {self.reference.true_loss:.4f} nats)"


def _source(data: Data | Source | Prior | Kernel) -> Source:
    """The source described by `data`, with a kernel for each sequence."""
    source = data.source if isinstance(data, Data) else as_source(data)
    return dataclasses.replace(source, per_kernel=1).as_inputs(jnp.float64)


def held_out(data: Data | Source | Prior | Kernel, count: int, seed: Seed = 0) -> Chains:
    """The sequences of an evaluation set, each from its own kernel, without measurements.

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
            f"the floor is NaN, or zero for a possible token, at position {source.order + wrong[:1, 1].sum()}; "
            "a Bayes predictor is defined and finite from a full window on",
        )
    losses, zero = estimators.summarise(true), estimators.summarise(missed)
    measured = {name: Measured.of(excess) for name, excess in excesses.items()}
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


def _given_rows(floor: GivenFloor, source: Source, tokens: Int[Array, "count tokens"]) -> Distributions:
    """The rows of a user's floor, each aligned with the token that it predicts."""
    predictor: Any = floor
    if isinstance(floor, Estimator | str):
        predictor = partial(find_estimator(floor).predict, order=source.order, alphabet_size=source.alphabet_size)
    rows, _ = predictions(predictor, tokens[:, :-1], source.alphabet_size, "probabilities", "floor")
    return jnp.pad(jnp.asarray(rows), ((0, 0), (1, 0), (0, 0)))


Compared = tuple[Array, dict[str, Array], dict[str, Array], Array, tuple[Array, Array]]
"""Of every sequence: the true loss, the excess of every reference predictor and its rows, the probability of tokens to
which the k-gram gives zero (NaN where it is undefined), and the result of `uniform_sums`."""


@eqx.filter_jit
def _compare(
    source: Source, tokens: Int[Array, "count tokens"], truth: Distributions, given: dict[str, Distributions]
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
