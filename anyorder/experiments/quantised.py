"""A trained transformer as a quantised network runs it.

Both operands of every matrix product have few bits: weights, activations, queries and keys, attention weights and
values. Sums, norms, exponentials and the softmax's denominator are kept in full: no hardware divides by a rounded sum.
"""

from __future__ import annotations

from functools import partial
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax.typing import DTypeLike
from jaxtyping import Array, Float, Int

from anyorder.experiments.rounding import Rounding
from anyorder.training.fast import toeplitz
from anyorder.transformer import Head, Transformer
from anyorder.transformer.arithmetic import unit


class Quantiser(NamedTuple):
    """How numbers of either sign are rounded, and how attention weights are, which have none."""

    signed: Rounding
    share: Rounding


def to_levels(values: Float[Array, "*shape"], steps: int) -> Float[Array, "*shape"]:
    """Rounded to this many equal steps from zero to the largest of each vector (the last axis)."""
    largest = jnp.maximum(jnp.abs(values).max(axis=-1, keepdims=True), jnp.finfo(values.dtype).tiny)
    return jnp.round(values / largest * steps) / steps * largest


def bits(number: int) -> Quantiser:
    """Uniform levels, scaled to the largest entry of each vector: 2^b - 1 around zero, for shares 2^b from zero.

    Two bits are the levels -1, 0, 1, and 0, 1/3, 2/3, 1 for attention weights.

    >>> bits(2).signed(jnp.array([1.0, 0.4, -0.6])).tolist()
    [1.0, 0.0, -1.0]
    """
    return Quantiser(partial(to_levels, steps=2 ** (number - 1) - 1), partial(to_levels, steps=2**number - 1))


def narrow(dtype: DTypeLike) -> Quantiser:
    """A narrow floating-point format for all.

    >>> narrow(jnp.bfloat16).share(jnp.float32(1.001)).item()
    1.0
    """
    largest = float(jnp.finfo(dtype).max)  # beyond it a format without infinity has only NaN

    def rounding(values: Float[Array, "*shape"]) -> Float[Array, "*shape"]:
        return jnp.clip(values, -largest, largest).astype(dtype).astype(values.dtype)

    return Quantiser(rounding, rounding)


def attention(model: Transformer, tokens: Int[Array, "length"], q: Quantiser) -> list[Float[Array, "heads rows rows"]]:
    """The attention weights of every layer, as they meet the values."""
    x = q.signed(model.embedding)[tokens]
    if model.positions is not None:
        x = x + q.signed(model.positions[: len(x)])
    if model.beginning is not None:
        x = jnp.concatenate([q.signed(model.beginning)[None], x])
    maps = []
    for layer in model.layers:
        read = x if layer.attention_norm is None else layer.attention_norm(x)
        found = [_attend(head, read, q) for head in layer.heads]
        maps.append(jnp.stack([weights for weights, _ in found]))
        x = x + sum(written for _, written in found)
        points: tuple[Array, ...] = (x,)
        read = x if layer.mlp_norm is None else layer.mlp_norm(x)
        for mlp in layer.mlp:
            read = mlp.finish(_product(read, mlp.weight, q), points)
            points = (*points, read)
        x = points[-1]
    return maps


def _product(x: Float[Array, "rows inputs"], weight: Float[Array, "outputs inputs"], q: Quantiser) -> Array:
    return q.signed(x) @ q.signed(weight).T


def _attend(head: Head, read: Float[Array, "rows d"], q: Quantiser) -> tuple[Array, Array]:
    queries, keys, values = (_product(read, weight, q) for weight in (head.query, head.key, head.value))
    if head.normalise:
        queries, keys = unit(queries), unit(keys)
    scores = _product(queries, keys, q)
    if head.offset_keys is not None:
        by_offset = _product(queries, head.offset_keys, q)  # row n of the Toeplitz matrix of query n
        scores = scores + jnp.diagonal(toeplitz(by_offset, 0, len(read))).T
    scores = jnp.where(np.tri(len(read), dtype=bool), scores * head.scale, -jnp.inf)
    weights = q.share(jax.nn.softmax(scores, axis=-1))
    mixed = weights @ q.signed(values)
    return weights, mixed if head.projection is None else _product(mixed, head.projection, q)
