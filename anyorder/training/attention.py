"""Attention maps next to the ideal of Definition 2, as sums over the queries of one sequence."""

from __future__ import annotations

from typing import NamedTuple

import jax.numpy as jnp
from jaxtyping import Array, Float, Int

from anyorder.estimators import matching, pseudo_attention

#: A query may give all its mass to the beginning token; what is left is then this, not zero.
TINY = 1e-9


class Sums(NamedTuple):
    """What the heads of one layer do on one sequence.

    `matching`: mass on the positions that a k-gram counts, over the queries that have such positions. `beginning`:
    mass on the beginning token, over all queries. `offsets`: mass at offsets 1 … k, over the queries from k on.
    `distance`: Frobenius distance to the pseudo-attention map, where queries without a match have a row of zeros.
    `share`: like `matching`, as a fraction of the mass that does not lie on the beginning token.
    """

    matching: Float[Array, "heads"]
    beginning: Float[Array, "heads"]
    offsets: Float[Array, "heads order"]
    distance: Float[Array, "heads"]
    share: Float[Array, "heads"]


def sums(weights: Float[Array, "heads rows rows"], tokens: Int[Array, "length"], order: int) -> Sums:
    """The sums of one layer; with a beginning token there is one row more than tokens.

    >>> tokens = jnp.asarray([0, 1, 0, 1, 0], jnp.int32)
    >>> ideal = pseudo_attention(tokens, 1)
    >>> [values.tolist() for values in sums(ideal[None], tokens, 1)]
    [[3.0], [0.0], [[2.5]], [0.0], [3.0]]
    """
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
    )


def uniform_sums(tokens: Int[Array, "length"], order: int) -> tuple[Float[Array, ""], Int[Array, ""]]:
    """The matching mass of uniform attention, and the number of queries that have a match.

    >>> total, queries = uniform_sums(jnp.asarray([0, 1, 0, 1, 0], jnp.int32), 1)
    >>> round(float(total), 4), int(queries)
    (0.9833, 3)
    """
    matches = matching.window_matches(tokens, order)
    fractions = matches.sum(axis=1) / jnp.arange(1, len(tokens) + 1, dtype=jnp.float64)
    return fractions.sum(), matches.any(axis=1).sum(dtype=jnp.int32)
