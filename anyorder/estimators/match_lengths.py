"""Match lengths, and attention by match length, for NumPy and JAX arrays, without importing JAX.

The match length ℓ(n, i) of query n and key i is the number of tokens before i that equal the tokens up to n, counted up
to a longest one: x_{i-1} = x_n, x_{i-2} = x_{n-1}, …, as in Definition 2.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from jaxtyping import Float, Int

from anyorder.io.gates import gated


@gated
def match_lengths(tokens: Int[Any, "length"], max_length: int) -> Int[Any, "length length"]:
    """ℓ(n, i), at most `max_length`; -1 at excluded keys: the first, the query itself and later ones.

    >>> match_lengths(np.array([9, 0, 1, 0, 1, 0]), 3)[-1].tolist()
    [-1, 0, 1, 0, 3, -1]
    """
    xp, count = tokens.__array_namespace__(), len(tokens)
    equal = tokens[:, None] == tokens[None, :]
    matched = np.tri(count, k=-1, dtype=bool) & (np.arange(count) > 0)
    lengths = xp.where(matched, 0, -1)
    for offset in range(max_length):  # x_{n - offset} = x_{i - 1 - offset}
        matched = matched & xp.pad(equal, ((offset, 0), (offset + 1, 0)))[:count, :count]
        lengths = lengths + matched
    return lengths


OneHot = Float[Any, "queries keys lengths"]


def even(of_length: OneHot) -> Float[Any, "queries 1 lengths"]:
    """The number of keys of every match length, to which uniform attention is proportional."""
    return of_length.sum(axis=1)[:, None]


def by_length(
    attention: Float[Any, "queries heads keys"],
    lengths: Int[Any, "queries keys"],
    max_length: int,
    chance: Callable[[OneHot], Float[Any, "queries _ lengths"]] = even,
) -> tuple[Float[Any, "queries heads lengths"], Float[Any, "queries heads lengths"]]:
    """Attention mass on keys of match length 0 … `max_length`, and the same total mass distributed by chance.

    chance: function from the one-hot match lengths to the weights of the chance distribution.

    >>> mass, expected = by_length(np.array([[[0.1, 0.2, 0.3, 0.4]]]), np.array([[-1, 0, 0, 1]]), 1)
    >>> mass.round(6).tolist(), expected.round(6).tolist()
    ([[[0.5, 0.4]]], [[[0.6, 0.3]]])
    """
    of_length = (lengths[:, :, None] == np.arange(max_length + 1)).astype(attention.dtype)
    mass, expected = attention @ of_length, chance(of_length)
    whole = expected.sum(axis=-1, keepdims=True)
    return mass, mass.sum(axis=-1, keepdims=True) * (expected / (whole + (whole == 0)))
