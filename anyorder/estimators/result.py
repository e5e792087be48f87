"""The result of every estimator: a distribution after each position, and where it is defined."""

from __future__ import annotations

import functools
from typing import NamedTuple, cast

import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float

from anyorder.io.gates import Function, gated
from anyorder.io.notebook import as_html
from anyorder.io.tokens import nan_outside

#: Positions that a notebook shows.
SHOWN = 8


class Estimate(NamedTuple):
    """Next-token distributions after every position; rows that are not defined are NaN.

    >>> import jax.numpy as jnp
    >>> Estimate(jnp.full((64, 2), 0.5), jnp.arange(64) >= 1)
    Estimate(64 positions over 2 symbols, defined at 63)
    """

    probabilities: Float[Array, "length symbols"]
    defined: Bool[Array, "length"]

    def __repr__(self) -> str:
        return _words(self)

    def _repr_html_(self) -> str:
        return _html(self)


class WeightedEstimate(NamedTuple):
    """An `Estimate` that mixes predictors of several orders, with the weight of each in every distribution."""

    probabilities: Float[Array, "length symbols"]
    defined: Bool[Array, "length"]
    posterior: Float[Array, "length orders"]

    def __repr__(self) -> str:
        return _words(self)

    def _repr_html_(self) -> str:
        return _html(self)


def estimator(function: Function) -> Function:
    """Decorator that checks an estimator's arguments; rows from a traced token outside the alphabet on become NaN."""

    @functools.wraps(function)
    def checked(tokens: object, **options: object) -> Estimate | WeightedEstimate:
        found = function(tokens, **options)
        rows = nan_outside(tokens, found.probabilities, found.probabilities.shape[-1])
        return (
            found
            if rows is found.probabilities
            else found._replace(probabilities=rows, defined=found.defined & ~jnp.isnan(rows).any(axis=1))
        )

    return gated(cast(Function, checked))


def _words(estimate: Estimate | WeightedEstimate) -> str:
    *batch, length, size = estimate.probabilities.shape
    several = " × ".join(map(str, batch)) + " sequences of " if batch else ""
    known = not isinstance(estimate.defined, jax.core.Tracer)
    where = f", defined at {int(estimate.defined.sum())}" if known else ""
    return f"{type(estimate).__name__}({several}{length} positions over {size} symbols{where})"


def _html(estimate: Estimate | WeightedEstimate) -> str:
    if estimate.probabilities.ndim > 2:
        return as_html(_words(estimate), {})
    length = len(estimate.probabilities)
    shown = range(max(0, length - SHOWN), length)
    return as_html(_words(estimate), {f"after token {n}": estimate.probabilities[n].tolist() for n in shown})
