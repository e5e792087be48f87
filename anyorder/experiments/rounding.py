"""Arithmetic with fewer bits: run a function as it is, but round what comes out of its operations."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

import jax
import jax.numpy as jnp
from jax.extend.core import ClosedJaxpr, Jaxpr, Literal, Var
from jax.typing import ArrayLike
from jaxtyping import Array, Float, Int

from anyorder import numerics as numerics

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
