"""Test sequences in which every pattern of agreement occurs, in the same rows and at the same distances.

In a row without a match, softmax gives the attention to the nearest miss. Patterns are therefore compared only within
"complete" rows, which contain all of them. Two kinds of sequences have such rows:

- `uniform`: random tokens over m symbols. K offsets agree with probability m^-K, so with few symbols and a small K many
  rows are complete.
- `sequences`: planted patterns. Each sequence has a motif of K random symbols and consists of pieces: the motif intact,
  with one offset flipped, with all but one flipped, or with all flipped. Pieces come in cycles, each a random
  permutation of all kinds. Queries are the ends of intact motifs after the first cycle; keys are the tokens after the
  pieces of earlier cycles. For each query every pattern occurs equally often, independently of the distance and, if
  there is room for a random token after each piece, of the token at the key.

`complete` draws the kind that fits, and `fitting` chooses m and K.
"""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING

import numpy as np
from jaxtyping import Bool, Int

from anyorder.errors import InputError, require
from anyorder.io.gates import check_memory, gated

if TYPE_CHECKING:
    from anyorder.chains import Source

#: Additional intact motifs, used as queries, in every cycle after the first.
MOTIFS = 4
#: Least expected number of complete rows of a uniform sequence.
COMPLETE = 2.0
#: Most rows of a uniform sequence used for profiles, and most queries of any sequence used for the spectrum.
ROWS, QUERIES = 24, 8


@dataclasses.dataclass(frozen=True)
class Sequences:
    """Symbols 0 … m - 1 of every sequence, and the query positions for the spectrum.

    `pairs` marks the queries and keys for agreement profiles; None: all.
    """

    tokens: Int[np.ndarray, "sequences length"]
    queries: Bool[np.ndarray, "sequences length"]
    pairs: Bool[np.ndarray, "sequences length length"] | None = None


def shortest(max_length: int) -> int:
    """Length of a sequence with one query: one cycle of all kinds of pieces, then the motif.

    >>> shortest(5), shortest(9)
    (65, 189)
    """
    return max_length * (2 * max_length + 3)


@gated
def sequences(count: int = 48, *, length: int = 192, symbols: int = 4, max_length: int = 5, seed: int = 0) -> Sequences:
    """Draw sequences with planted patterns.

    >>> drawn = sequences(2, length=96, symbols=4, max_length=3)
    >>> drawn.tokens.shape, bool(drawn.queries.any(axis=1).all())
    ((2, 96), True)
    """
    _check(count, symbols, max_length, length, shortest(max_length))
    generator = np.random.default_rng(seed)
    tokens, pairs = map(
        np.stack, zip(*(_one(generator, length, symbols, max_length) for _ in range(count)), strict=True)
    )
    return Sequences(tokens, _some(generator, np.asarray(pairs.any(axis=2)), QUERIES), pairs)


def fitting(length: int, symbols: range, max_length: int) -> tuple[int, int]:
    """The largest K up to `max_length` that gives complete rows, with the largest number of `symbols` for it.

    >>> fitting(192, range(2, 5), 5), fitting(192, range(2, 5), 9), fitting(32, range(2, 3), 9)
    ((3, 5), (4, 9), (2, 4))
    """
    require(max_length >= 2, f"max length is {max_length}, must be at least 2")
    for longest in range(max_length, 1, -1):
        for number in reversed(symbols):
            if _frequent(length, number, longest):
                return number, longest
        if length >= shortest(longest):
            return symbols[-1], longest
    raise InputError(
        f"length is {length}, must be at least {shortest(2)} for {symbols[0]} symbols; take longer sequences"
    )


@gated
def complete(count: int = 48, *, length: int = 192, symbols: int = 4, max_length: int = 5, seed: int = 0) -> Sequences:
    """Sequences with complete rows: uniform if patterns are frequent enough, otherwise planted.

    >>> complete(2, length=32, symbols=2, max_length=4).pairs.any(axis=2).sum() > 0
    np.True_
    """
    draw = uniform if _frequent(length, symbols, max_length) else sequences
    return draw(count, length=length, symbols=symbols, max_length=max_length, seed=seed)


@gated
def uniform(count: int = 48, *, length: int = 192, symbols: int = 2, max_length: int = 5, seed: int = 0) -> Sequences:
    """Uniform random tokens; pairs are in rows that have an exact match and a key for every single flip.

    >>> drawn = uniform(2, length=96, symbols=2, max_length=3)
    >>> drawn.tokens.shape, drawn.queries.sum(axis=1).tolist()
    ((2, 96), [8, 8])
    """
    _check(count, symbols, max_length, length, max_length + 2)
    generator = np.random.default_rng(seed)
    tokens = generator.integers(symbols, size=(count, length))
    keys = np.tri(length, k=-1, dtype=bool) & (np.arange(length) >= max_length)
    whole = []
    for row in tokens:
        equal = row[:, None] == row
        agree = np.stack([np.pad(equal, ((j - 1, 0), (j, 0)))[:length, :length] for j in range(1, max_length + 1)])
        number = agree.sum(axis=0)
        patterns = np.concatenate([[number == max_length], (number == max_length - 1) & ~agree]) & keys
        whole.append(patterns.any(axis=2).all(axis=0))
    rows = _some(generator, np.array(whole), ROWS)
    return Sequences(tokens, _some(generator, rows, QUERIES), rows[..., None] & keys)


@gated
def drawn_from(source: Source, count: int, *, max_length: int = 5, seed: int = 0) -> Sequences:
    """Sequences of a source; queries are all positions from K on, and long matches may be rare.

    >>> from anyorder.chains import Dirichlet, Source
    >>> drawn_from(Source(Dirichlet(1, 2), length=64), 2).queries.sum(axis=1).tolist()
    [59, 59]
    """
    require(
        source.length > max_length,
        f"the source has {source.length} tokens, must have more than the max length, {max_length}",
    )
    tokens = np.asarray(dataclasses.replace(source, per_kernel=1).sample(seed, count).tokens, np.int64)
    return Sequences(tokens, np.broadcast_to(np.arange(source.length) >= max_length, tokens.shape))


def _frequent(length: int, symbols: int, longest: int) -> bool:
    """Whether uniform tokens have enough complete rows on average."""
    keys, chance = np.arange(length - longest), float(symbols) ** -longest
    whole, flipped = (1 - np.exp(-keys * share) for share in (chance, (symbols - 1) * chance))
    return float((whole * flipped**longest).sum()) >= COMPLETE


def _check(count: int, symbols: int, max_length: int, length: int, least: int) -> None:
    require(count >= 1, f"sequences is {count}, must be at least 1")
    pairs = f"{count} sequences of {length} tokens, with all pairs of positions,"
    check_memory(2 * count * length**2, pairs, "pass a smaller `length=`")
    require(symbols >= 2, f"symbols is {symbols}, must be at least 2: with one symbol every key matches")
    require(max_length >= 2, f"max length is {max_length}, must be at least 2")
    require(
        length >= least,
        f"length is {length}, must be at least {least} for match lengths up to {max_length}; "
        "lengthen the sequences or lower the max length",
    )


def _some(
    generator: np.random.Generator, places: Bool[np.ndarray, "sequences length"], most: int
) -> Bool[np.ndarray, "sequences length"]:
    """A random subset of the True entries of each sequence, at most `most` of them."""
    rank = np.where(places, generator.random(places.shape), -1.0)
    return places & (rank >= np.sort(rank, axis=1)[:, -min(most, rank.shape[1]), None])


def _one(generator: np.random.Generator, length: int, symbols: int, longest: int) -> tuple[np.ndarray, np.ndarray]:
    """Tokens and pairs of one sequence: random tokens, then pieces up to the last token."""
    single = np.eye(longest, dtype=bool)
    kinds = np.concatenate([single[:1] | True, ~single, single, single[:1] & False])  # offsets 1 … K that agree
    size = longest + (length >= (longest + 1) * (len(kinds) + 1))  # a random token after each piece, if there is room
    count = (length + size - longest) // size
    whole = len(kinds)  # an additional intact motif: a query, not a key
    cycles = [generator.permutation(len(kinds))]
    while sum(map(len, cycles)) < count:
        cycles.append(generator.permutation([*range(len(kinds)), *[whole] * MOTIFS]))
    order = np.concatenate(cycles)[:count]
    order[-1] = whole
    starts = length - longest - size * np.arange(count)[::-1]
    motif = generator.integers(symbols, size=longest)
    tokens, pairs = generator.integers(symbols, size=length), np.zeros((length, length), bool)
    for kind, start in zip(order, starts, strict=True):
        other = (motif + generator.integers(1, symbols, size=longest)) % symbols
        agree = np.append(kinds, single[:1] | True, axis=0)[kind, ::-1]  # the newest offset is the last token
        tokens[start : start + longest] = np.where(agree, motif, other)
    ends = np.cumsum([len(cycle) for cycle in cycles])
    for piece in np.flatnonzero((order == 0) | (order == whole)):
        before = ends[ends <= piece].max(initial=0)
        keys = np.flatnonzero(order[:before] != whole)
        pairs[starts[piece] + longest - 1, starts[keys] + longest] = True
    return tokens, pairs
