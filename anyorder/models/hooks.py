"""Hooks of the forward pass: functions that change its intermediate values, such as dropout or rounding."""

from __future__ import annotations

from typing import Literal, Protocol, runtime_checkable

from jaxtyping import Array, Float

Place = Literal["embedding", "read", "query", "key", "value", "attention", "written"]


@runtime_checkable
class Hook(Protocol):
    """Changes the values at every place of a forward pass, in the order in which they are computed.

    - `embedding`: the residual stream before the first layer
    - `read`: the input of a matrix, after the norm
    - `query`, `key`, `value`: of one head, queries before the scale; `key` is also called with its table of offsets
    - `attention`: the weights of one head
    - `written`: the sum that a head or a whole MLP adds to the residual stream
    """

    def __call__(self, place: Place, values: Float[Array, "*shape"], /) -> Float[Array, "*shape"]:
        """The values with which the forward pass continues."""


def plain(place: Place, values: Float[Array, "*shape"], /) -> Float[Array, "*shape"]:
    """The hook of an ordinary forward pass: it changes nothing."""
    return values
