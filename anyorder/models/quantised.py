"""Arithmetic with fewer bits: any function with the results of its operations rounded, and a quantised transformer.

In the quantised one both operands of every matrix product have few bits: weights, activations, queries and keys,
attention weights and values. Sums, norms, exponentials and the softmax's denominator keep full precision: no
hardware divides by a rounded sum.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from functools import partial
from typing import NamedTuple, TypeVar

import jax
import jax.numpy as jnp
from jax.extend.core import ClosedJaxpr, Jaxpr, Literal, Var
from jax.typing import ArrayLike, DTypeLike
from jaxtyping import Array, Float, Int

from anyorder.models import Transformer
from anyorder.models.hooks import Place

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
    """Rounding of signed numbers, and of shares: attention weights, which are never negative."""

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
) -> tuple[Float[Array, "heads rows rows"], ...]:
    """The quantised attention weights of every layer, which multiply the values."""

    def rounding(place: Place, values: Float[Array, "*shape"]) -> Float[Array, "*shape"]:
        if place in ("embedding", "written"):
            return values
        return q.share(values) if place == "attention" else q.signed(values)

    few = jax.tree.map(lambda leaf: q.signed(leaf) if jnp.ndim(leaf) == 2 else leaf, model)
    if model.beginning is not None:
        few = dataclasses.replace(few, beginning=q.signed(jnp.asarray(model.beginning)))
    return few.trace(tokens, hook=rounding).attention
