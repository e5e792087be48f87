"""Functions of a batch with hand-written gradients, which are faster on a CPU than automatic ones.

They use three optimisations that XLA misses: sums over rows or columns are products with a vector; the gradient of a
matrix is a product in the faster order, at the cost of a transposition; and results of the forward pass (centred rows,
attention weights) are kept instead of recomputed.
"""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from anyorder.models.mlp import EPSILON

Rows = Float[Array, "rows width"]
Scores = Float[Array, "batch queries keys"]
Queries = Float[Array, "batch queries width"]
Keys = Float[Array, "batch keys width"]


def _over_rows(x: Rows) -> Float[Array, "width"]:
    return jnp.ones(len(x), x.dtype) @ x


def _outer(left: Float[Array, "*batch rows outputs"], right: Float[Array, "*batch rows width"]) -> Array:
    """Σ left rightᵀ over the rows; the barrier keeps the transposition out of the product."""
    return jax.lax.optimization_barrier(left.swapaxes(-1, -2)) @ right


@jax.custom_vjp
def linear(x: Rows, weight: Float[Array, "outputs width"]) -> Float[Array, "rows outputs"]:
    """W x for every row.

    >>> linear(jnp.asarray([[1.0, 2.0]]), jnp.asarray([[3.0, 4.0]])).tolist()
    [[11.0]]
    """
    return x @ weight.T


linear.defvjp(
    lambda x, weight: (x @ weight.T, (x, weight)),
    lambda kept, pulled: (pulled @ kept[1], _outer(pulled, kept[0])),
)


@jax.custom_vjp
def add_row(x: Rows, row: Float[Array, "width"]) -> Rows:
    """Add one row to every row.

    >>> add_row(jnp.asarray([[1.0], [2.0]]), jnp.asarray([5.0])).tolist()
    [[6.0], [7.0]]
    """
    return x + row


add_row.defvjp(lambda x, row: (x + row, None), lambda _, pulled: (pulled, _over_rows(pulled)))


@jax.custom_vjp
def layer_norm(x: Rows, gain: Float[Array, "width"], bias: Float[Array, "width"]) -> Rows:
    """Every row with mean zero and variance one, times gain, plus bias.

    >>> layer_norm(jnp.asarray([[1.0, 3.0]]), jnp.ones(2), jnp.zeros(2)).round(3).tolist()
    [[-1.0, 1.0]]
    """
    return _normalised(x, gain, bias)[0]


def _normalised(x: Rows, gain: Array, bias: Array) -> tuple[Rows, Any]:
    mean = jnp.full(x.shape[1], 1 / x.shape[1], x.dtype)
    centred = x - (x @ mean)[:, None]
    inverse = jax.lax.rsqrt(jnp.square(centred) @ mean + EPSILON)[:, None]
    rows = centred * inverse
    return rows * gain + bias, (rows, inverse, gain)


def _normalised_back(kept: tuple[Rows, Array, Array], pulled: Rows) -> tuple[Rows, Array, Array]:
    rows, inverse, gain = kept
    along = jax.lax.optimization_barrier(pulled * rows)
    weights = gain / len(gain)
    change = pulled * gain - (pulled @ weights)[:, None] - rows * (along @ weights)[:, None]
    return change * inverse, _over_rows(along), _over_rows(pulled)


layer_norm.defvjp(_normalised, _normalised_back)


@jax.custom_vjp
def causal_softmax(scores: Scores) -> Scores:
    """Attention weights of every query on the keys up to its own; the last query is at the last key.

    >>> causal_softmax(jnp.zeros((1, 2, 2))).tolist()
    [[[1.0, 0.0], [0.5, 0.5]]]
    """
    rows, keys = scores.shape[-2:]
    return jax.nn.softmax(jnp.where(np.tri(rows, keys, keys - rows, dtype=bool), scores, -jnp.inf), axis=-1)


def _causal_softmax_back(weights: Scores, pulled: Scores) -> tuple[Scores]:
    along = weights * pulled
    return (along - weights * _total(along),)


def _total(x: Scores) -> Float[Array, "batch queries 1"]:
    ones = jnp.ones((x.shape[-1], 1), x.dtype)
    return (jax.lax.optimization_barrier(x).reshape(-1, x.shape[-1]) @ ones).reshape(*x.shape[:-1], 1)


causal_softmax.defvjp(lambda scores: (causal_softmax(scores),) * 2, _causal_softmax_back)


@jax.custom_vjp
def mix(weights: Scores, values: Keys) -> Queries:
    """The output of attention: the weighted sum of values.

    >>> mix(jnp.asarray([[[0.5, 0.5]]]), jnp.asarray([[[1.0], [3.0]]])).tolist()
    [[[2.0]]]
    """
    return weights @ values


mix.defvjp(
    lambda weights, values: (weights @ values, (weights, values)),
    lambda kept, pulled: (pulled @ kept[1].swapaxes(1, 2), _outer(kept[0], pulled)),
)


@jax.custom_vjp
def products(queries: Queries, keys: Keys) -> Scores:
    """Products of queries and keys.

    >>> products(jnp.asarray([[[3.0, 4.0]]]), jnp.asarray([[[0.0, 2.0]]])).tolist()
    [[[8.0]]]
    """
    return jnp.einsum("bnd,bkd->bnk", queries, keys)


products.defvjp(
    lambda queries, keys: (products(queries, keys), (queries, keys)),
    lambda kept, pulled: (pulled @ kept[1], _outer(pulled, kept[0])),
)


@jax.custom_vjp
def decayed(scores: Scores, along: Float[Array, "batch keys"]) -> Scores:
    """Score (n, i) times exp(along_n - along_i) up to the diagonal, and zero above it.

    >>> decayed(jnp.ones((1, 2, 2)), jnp.asarray([[0.0, -jnp.log(2.0)]])).round(3).tolist()
    [[[1.0, 0.0], [0.5, 1.0]]]
    """
    return _decayed(scores, along)[0]


def _decayed(scores: Scores, along: Float[Array, "batch keys"]) -> tuple[Scores, Any]:
    causal = np.tri(along.shape[1], dtype=bool)
    factors = jnp.exp(jnp.where(causal, along[:, :, None] - along[:, None, :], -jnp.inf))
    return scores * factors, (scores, factors)


def _decayed_back(kept: tuple[Scores, Scores], pulled: Scores) -> tuple[Scores, Array]:
    scores, factors = kept
    change = pulled * factors
    along = change * scores
    return change, (_total(along) - _total(along.swapaxes(1, 2)))[:, :, 0]


decayed.defvjp(_decayed, _decayed_back)


@jax.custom_vjp
def unit_products(queries: Queries, keys: Keys) -> Scores:
    """Products of the directions of queries and keys, 0 for a zero vector.

    The products, not the vectors, are divided by the lengths: in a short sequence there are fewer of them.

    >>> round(float(unit_products(jnp.asarray([[[3.0, 4.0]]]), jnp.asarray([[[0.0, 2.0]]]))[0, 0, 0]), 6)
    0.8
    """
    return _unit_products(queries, keys)[0]


def _unit_products(queries: Queries, keys: Keys) -> tuple[Scores, Any]:
    by_query, by_key = _inverse_lengths(queries), _inverse_lengths(keys).swapaxes(1, 2)
    products = jnp.einsum("bnd,bkd->bnk", queries, keys) * by_query * by_key
    return products, (queries, keys, by_query, by_key, products)


def _inverse_lengths(rows: Float[Array, "batch rows width"]) -> Float[Array, "batch rows 1"]:
    squared = _total(jnp.square(rows))
    return jax.lax.rsqrt(jnp.where(squared > 0, squared, jnp.ones_like(squared)))


def _unit_products_back(kept: Any, pulled: Scores) -> tuple[Queries, Keys]:
    queries, keys, by_query, by_key, products = kept
    along, inner = pulled * products, pulled * by_query * by_key
    # A change of length does not change the direction: the radial part of the gradient is removed.
    of_queries = inner @ keys - queries * (_total(along) * jnp.square(by_query))
    of_keys = _outer(inner, queries) - keys * (_total(along.swapaxes(1, 2)) * jnp.square(by_key.swapaxes(1, 2)))
    return of_queries, of_keys


unit_products.defvjp(_unit_products, _unit_products_back)
