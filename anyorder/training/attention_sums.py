"""Attention of a layer next to the ideal of Definition 2: sums over queries, and the numbers of each head."""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING, NamedTuple

import jax.numpy as jnp
from jaxtyping import Array, Float, Int

from anyorder import estimators
from anyorder.estimators import matching, pseudo_attention
from anyorder.estimators.match_lengths import by_length, match_lengths

if TYPE_CHECKING:
    from anyorder.training.reference import EvaluationSet


#: Lower bound of the mass off the beginning token, which may otherwise be zero.
TINY = 1e-9
#: Match lengths in a spectrum beyond the order.
LENGTHS_ABOVE_ORDER = 2


@dataclasses.dataclass(frozen=True)
class HeadAttention:
    """One head: its mass on matches, on the beginning token and at offsets 1 … k, and its distance to the ideal.

    `spectrum` is attention relative to chance at match lengths 0 … k + 2, as in the probe (docs/probe.md).
    """

    matching_mass: float
    matching_share: float
    beginning_mass: float
    offset_mass: list[float]
    distance: float
    distance_error: float
    spectrum: list[float | None]


class Sums(NamedTuple):
    """Attention of one layer next to the ideal of Definition 2, as sums over the queries of one sequence.

    `matching`: mass on the positions that a k-gram counts, over the queries that have such positions. `beginning`:
    mass on the beginning token, over all queries. `offsets`: mass at offsets 1 … k, over the queries from k on.
    `distance`: Frobenius distance to the pseudo-attention map, whose rows are zero for queries without a match.
    `share`: like `matching`, as a fraction of the mass off the beginning token. `by_length`: mass by match length
    0 … k + 2, for this attention and for uniform attention of the same total mass.
    """

    matching: Float[Array, "heads"]
    beginning: Float[Array, "heads"]
    offsets: Float[Array, "heads order"]
    distance: Float[Array, "heads"]
    share: Float[Array, "heads"]
    by_length: Float[Array, "heads 2 lengths"]


def sums(weights: Float[Array, "heads rows rows"], tokens: Int[Array, "length"], order: int) -> Sums:
    """The sums of one layer; with a beginning token there is one more row than there are tokens."""
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


def layer_attention(sums: Sums, evaluation: EvaluationSet) -> list[HeadAttention]:
    """The heads of a layer, from its sums on every sequence."""
    return [_head(Sums(*(values[:, head] for values in sums)), evaluation) for head in range(sums.matching.shape[1])]


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
