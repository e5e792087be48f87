"""The match-length spectrum of a head: attention to keys as a function of the length of the matching context.

The match length ℓ(n, i) of query n and key i is the number of tokens before i that equal the tokens up to n:
x_{i-1} = x_n, x_{i-2} = x_{n-1}, …, counted up to K. (This is the "+1" convention of Definition 2: a matching key is
the token *after* the earlier occurrence.) The spectrum is the attention mass on keys with match length ℓ relative to
uniform attention over the same keys. A head that ignores content has a flat spectrum at one; an induction head of order
k has a step at ℓ = k. The first key (an attention sink) and the query's own position are excluded; their attention is
reported separately.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from typing import Literal

import numpy as np
from jaxtyping import Bool, Float, Int
from numpy.lib.stride_tricks import sliding_window_view
from numpy.typing import ArrayLike

from anyorder.errors import InputError, check_order, require, shown
from anyorder.estimators.match_lengths import by_length, even, match_lengths
from anyorder.io.gates import gated

#: Tolerance for row sums of attention; 16-bit models come close to it.
ROW_TOLERANCE = 2e-2

Chance = Literal["uniform", "offsets"]


@gated
def matched(tokens: Int[np.ndarray, "length"], order: int, *, bag: bool = False) -> Bool[np.ndarray, "length length"]:
    """True at (n, i) if the `order` tokens before i equal the last `order` tokens up to n; with `bag`, in any order.

    >>> matched(np.array([0, 1, 0, 1, 0]), 1)[-1].astype(int).tolist()
    [0, 1, 0, 1, 0]
    """
    check_order(order)
    result = np.zeros((len(tokens), len(tokens)), bool)
    if order < len(tokens):
        windows = sliding_window_view(tokens, order)
        windows = np.sort(windows, axis=1) if bag else windows
        names = np.unique(windows, axis=0, return_inverse=True)[1].reshape(-1)
        result[order - 1 :, order:] = names[:, None] == names[None, :-1]
    return np.tril(result)


@dataclasses.dataclass(frozen=True)
class Rows:
    """Rows of attention at the queries of all sequences, with the match length of every key (-1: excluded)."""

    attention: Float[np.ndarray, "queries *heads length"]
    lengths: Int[np.ndarray, "queries length"]
    position: Int[np.ndarray, "queries"]
    sequence: Int[np.ndarray, "queries"]


@dataclasses.dataclass(frozen=True)
class Spectrum:
    """Attention by match length 0 … K for every head, as sums over the queries of each sequence.

    `mass` is attention, `chance` that of uniform attention with the same total. `sink_mass` and `own_mass` are the mean
    attention on the first key and on the query itself. `ratio` is the spectrum, `error` its standard error over
    sequences; both are NaN at match lengths that do not occur.
    """

    mass: Float[np.ndarray, "sequences *heads lengths"]
    chance: Float[np.ndarray, "sequences *heads lengths"]
    sink_mass: Float[np.ndarray, "*heads"]
    own_mass: Float[np.ndarray, "*heads"]

    @property
    def max_length(self) -> int:
        """K, the largest match length; longer matches count as K."""
        return self.mass.shape[-1] - 1

    @property
    def ratio(self) -> Float[np.ndarray, "*heads lengths"]:
        """Mass over chance, summed over all sequences."""
        return quotient(self.mass.sum(axis=0), self.chance.sum(axis=0))

    @property
    def replicates(self) -> Float[np.ndarray, "sequences *heads lengths"]:
        """The spectrum with each sequence left out in turn."""
        return quotient(self.mass.sum(axis=0) - self.mass, self.chance.sum(axis=0) - self.chance)

    @property
    def error(self) -> Float[np.ndarray, "*heads lengths"]:
        """Standard error over sequences, by the jackknife; NaN with one sequence."""
        return jackknife(self.replicates)

    def __getitem__(self, index: int | tuple[int, ...]) -> Spectrum:
        """The spectrum of one head, or of one layer of heads."""
        sums = (np.moveaxis(np.moveaxis(values, 0, -2)[index], -2, 0) for values in (self.mass, self.chance))
        return Spectrum(*sums, *(np.asarray(values[index]) for values in (self.sink_mass, self.own_mass)))


def quotient(above: ArrayLike, below: ArrayLike) -> np.ndarray:
    """Division that gives NaN where the denominator is zero.

    >>> quotient([1.0, 1.0], [2.0, 0.0]).tolist()
    [0.5, nan]
    """
    above, below = np.asarray(above), np.asarray(below)
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.where(below > 1e-12, above / below, np.nan)


def jackknife(replicates: Float[np.ndarray, "sequences *rest"]) -> Float[np.ndarray, "*rest"]:
    """Jackknife standard error, from the values with each sequence left out in turn.

    >>> float(jackknife(np.array([1.0, 2.0, 3.0])))  # doctest: +ELLIPSIS
    1.15...
    """
    count = len(replicates)
    if count < 2:
        return np.full(replicates.shape[1:], np.nan)
    return np.asarray(np.sqrt((count - 1) / count * np.square(replicates - replicates.mean(axis=0)).sum(axis=0)))


@gated
def spectrum(
    attention: np.ndarray,
    tokens: np.ndarray,
    *,
    max_length: int = 5,
    queries: np.ndarray | None = None,
    chance: Chance = "uniform",
) -> Spectrum:
    """The spectra of heads: attention (sequences, …, T, T) on tokens (sequences, T); without sequences, of one.

    `queries` marks the query positions, by default all from K on. With `chance="offsets"` the mass is relative to the
    head's own mean attention by offset n - i instead of uniform attention: the spectrum of a purely positional head is
    then flat on any sequences.

    >>> from anyorder.probing import sequences
    >>> drawn = sequences(4, max_length=3)
    >>> ideal = np.stack([matched(row, 2) + 1e-9 * np.tri(len(row)) for row in drawn.tokens])
    >>> ideal /= ideal.sum(axis=-1, keepdims=True)
    >>> spectrum(ideal, drawn.tokens, max_length=3, queries=drawn.queries).ratio.round(1).tolist()
    [0.0, 0.0, 8.7, 8.4]
    """
    attention, tokens = np.asarray(attention), np.asarray(tokens)
    if tokens.ndim == 1:
        attention, tokens = attention[None], tokens[None]
        queries = None if queries is None else np.asarray(queries)[None]
    check(attention, tokens)
    known = isinstance(chance, str) and chance in ("uniform", "offsets")
    require(known, f"chance is {shown(chance)}, must be uniform or offsets")
    marked = queries is None or (np.shape(queries) == tokens.shape and np.asarray(queries).any())
    require(bool(marked), f"queries are {shown(queries)}, must mark positions of tokens of shape {tokens.shape}")
    require(max_length >= 1, f"max length is {max_length}, must be at least 1")
    if queries is None:
        queries = np.broadcast_to(np.arange(tokens.shape[1]) >= min(max_length, tokens.shape[1] - 1), tokens.shape)
    kept = [
        rows([maps], row, marked, max_length, place)
        for place, (maps, row, marked) in enumerate(zip(attention, tokens, queries, strict=True))
    ]
    return tally(join(kept), max_length, chance)


def check(attention: np.ndarray, tokens: np.ndarray) -> None:
    """Reject arrays that are not causal attention on these tokens."""
    require(tokens.ndim == 2, f"tokens have shape {tokens.shape}, must be (sequences, length)")
    require(
        tokens.dtype.kind in "iu", f"tokens are {tokens.dtype} values, must be integers; pass the ids of the tokens"
    )
    length = tokens.shape[1]
    require(length >= 3, f"the sequences have {length} tokens, must be at least 3")
    require(
        attention.ndim >= 3 and attention.shape[-2:] == (length, length) and len(attention) == len(tokens),
        f"attention has shape {attention.shape}, must be (sequences, …, T, T) for tokens of shape {tokens.shape}",
    )
    require(attention.size > 0, f"attention has shape {attention.shape}, must have a head; record at least one")
    require(attention.dtype.kind == "f", f"attention has {attention.dtype} values, must be floating-point numbers")
    for sequence in attention:
        check_rows(sequence)


def check_rows(attention: Float[np.ndarray, "*heads length length"]) -> None:
    """Reject rows that are not distributions over earlier positions."""
    dtype = np.promote_types(attention.dtype, np.float32)
    sums = attention.sum(axis=-1, dtype=dtype)
    wrong = ~(np.abs(sums - 1) <= ROW_TOLERANCE)
    if wrong.any() or float(attention.min()) < -ROW_TOLERANCE:
        place = np.unravel_index(int(np.argmax(wrong)), sums.shape)
        raise InputError(
            f"this is not attention: row {place[-1]} sums to {float(sums[place]):.3g}, must be 1; "
            "pass weights after the softmax, queries in rows"
        )
    above = np.triu(np.ones(attention.shape[-2:], dtype), 1)
    ahead = float(np.einsum("...nk,nk->...n", attention, above).max())
    require(
        ahead <= ROW_TOLERANCE,
        f"the attention is not causal (mass {ahead:.2f} above the diagonal); the probe needs causal models, with "
        "queries in rows",
    )


def rows(
    maps: Sequence[Float[np.ndarray, "*_ length length"]],
    tokens: Int[np.ndarray, "length"],
    queries: Bool[np.ndarray, "length"],
    max_length: int,
    sequence: int = 0,
) -> Rows:
    """Rows of one sequence at its queries; `maps` has the heads of one layer after the other."""
    places = np.flatnonzero(queries)
    chosen = np.concatenate([np.moveaxis(attention[..., places, :], -2, 0) for attention in maps], axis=1)
    chosen = chosen.astype(np.float64 if chosen.dtype == np.float64 else np.float32)
    lengths = match_lengths(tokens, max_length)[places]
    return Rows(chosen, lengths, places, np.full(len(places), sequence))


def join(parts: list[Rows]) -> Rows:
    """The rows of several sequences."""
    return Rows(*(np.concatenate([getattr(part, field.name) for part in parts]) for field in dataclasses.fields(Rows)))


def tally(given: Rows, max_length: int, chance: Chance = "uniform") -> Spectrum:
    """Sums over the queries of each sequence."""
    count, length = given.lengths.shape
    heads = given.attention.shape[1:-1]
    attention = given.attention.reshape(count, -1, length)
    names, sequence = np.unique(given.sequence, return_inverse=True)

    def by_offset(of_length: Float[np.ndarray, "queries length lengths"]) -> Float[np.ndarray, "queries heads lengths"]:
        places = given.position[:, None] - np.arange(length)  # the key at every offset
        key = np.maximum(places, 0)
        at_offset = np.take_along_axis(of_length, key[..., None], axis=1) * (places >= 0)[..., None]
        looked_at = at_offset.any(axis=-1).astype(np.float64)
        sums = np.einsum("qho,qo->oh", np.take_along_axis(attention, key[:, None], axis=2), looked_at)
        # Mean attention at each offset that occurs.
        profile = sums / np.maximum(looked_at.sum(axis=0), 1)[:, None]
        return np.einsum("oh,qol->qhl", profile, at_offset, optimize=True)

    mass, expected = by_length(attention, given.lengths, max_length, by_offset if chance == "offsets" else even)

    def by_sequence(values: np.ndarray) -> np.ndarray:
        sums = np.zeros((len(names), *heads, max_length + 1))
        np.add.at(sums, sequence, values.reshape(count, *heads, -1))
        return sums

    own = np.take_along_axis(attention, given.position[:, None, None], axis=-1)[..., 0]
    resting = (values.mean(axis=0, dtype=np.float64).reshape(heads) for values in (attention[..., 0], own))
    return Spectrum(by_sequence(mass), by_sequence(expected), *resting)
