"""Arithmetic with fewer bits: any function with the results of its operations rounded, and a quantised transformer.

In the quantised one both operands of every matrix product have few bits: weights, activations, queries and keys,
attention weights and values. Sums, norms, exponentials and the softmax's denominator are kept in full: no hardware
divides by a rounded sum.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import NamedTuple, TypeVar

import jax
import jax.numpy as jnp
import numpy as np
from jax.extend.core import ClosedJaxpr, Jaxpr, Literal, Var
from jax.typing import ArrayLike, DTypeLike
from jaxtyping import Array, Float, Int

from anyorder.models import Head, Transformer
from anyorder.models.arithmetic import unit
from anyorder.training.fast import toeplitz

Rounding = Callable[[Array], Array]
Output = TypeVar("Output")


def rounded(function: Callable[..., Output], rounding: Rounding) -> Callable[..., Output]:
    """The function with its inputs and the result of every operation rounded."""

    def run(*inputs: object) -> Output:
        leaves = jax.tree.leaves(inputs)
        closed, shape = jax.make_jaxpr(function, return_shape=True)(*inputs)
        outputs = _evaluate(closed.jaxpr, closed.consts, leaves, rounding)
        return jax.tree.unflatten(jax.tree.structure(shape), outputs)

    return run


def _evaluate(jaxpr: Jaxpr, consts: list[ArrayLike], inputs: list[ArrayLike], rounding: Rounding) -> list[ArrayLike]:
    values: dict[Var, ArrayLike] = {}

    def read(place: Var | Literal) -> ArrayLike:
        return place.val if isinstance(place, Literal) else values[place]

    def round_float(value: ArrayLike) -> ArrayLike:
        return rounding(jnp.asarray(value)) if jnp.issubdtype(jnp.result_type(value), jnp.floating) else value

    values.update(zip(jaxpr.constvars, consts, strict=True))
    values.update(zip(jaxpr.invars, map(round_float, inputs), strict=True))
    for equation in jaxpr.eqns:
        operands = [read(place) for place in equation.invars]
        inner = next((part for part in equation.params.values() if isinstance(part, ClosedJaxpr)), None)
        if inner is not None:  # a call; the transformer has no loops
            results = _evaluate(inner.jaxpr, inner.consts, operands, rounding)
        else:
            bound = equation.primitive.bind(*operands, **equation.params)
            results = bound if equation.primitive.multiple_results else [bound]
            results = [round_float(value) for value in results]
        values.update(zip(equation.outvars, results, strict=True))
    return [read(place) for place in jaxpr.outvars]


def to_mantissa(bits: Int[Array, ""]) -> Rounding:
    """Rounding of float64 to this many significant bits, by Veltkamp's splitting; exponents are not touched.

    >>> to_mantissa(jnp.int32(3))(jnp.array([0.9, 1.3, 100.0], jnp.float64)).tolist()
    [0.875, 1.25, 96.0]
    """
    factor = jnp.exp2((53 - bits).astype(jnp.float64)) + 1

    def rounding(values: Float[Array, "*shape"]) -> Float[Array, "*shape"]:
        large = factor * values
        return jnp.where(jnp.isfinite(large), large - (large - values), values)

    return rounding


class Quantiser(NamedTuple):
    """How numbers of either sign are rounded, and how attention weights are, which have none."""

    signed: Rounding
    share: Rounding


def to_levels(values: Float[Array, "*shape"], steps: int) -> Float[Array, "*shape"]:
    """Rounded to this many equal steps from zero to the largest of each vector (the last axis)."""
    largest = jnp.maximum(jnp.abs(values).max(axis=-1, keepdims=True), jnp.finfo(values.dtype).tiny)
    return jnp.round(values / largest * steps) / steps * largest


def to_bits(number: int) -> Quantiser:
    """Uniform levels, scaled to the largest entry of each vector: 2^b - 1 around zero, for shares 2^b from zero.

    Two bits are the levels -1, 0, 1, and 0, 1/3, 2/3, 1 for attention weights.

    >>> to_bits(2).signed(jnp.array([1.0, 0.4, -0.6])).tolist()
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


def quantised_attention(
    model: Transformer, tokens: Int[Array, "length"], q: Quantiser
) -> list[Float[Array, "heads rows rows"]]:
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
