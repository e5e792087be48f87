"""Test sequences: uniform random tokens over few symbols, and sequences with keys of every match length.

In uniform random tokens over m symbols K offsets agree with probability m^-K, and each pattern of agreement occurs
independently of distances and of the token at the key: agreement is measured on these. `fitting` chooses m and K.

With many symbols long matches hardly occur. In `sequences` they do, whatever the number of symbols: each
has a motif of K random symbols and is made of pieces: a symbol that breaks the match, the last ℓ symbols of
the motif with ℓ from 0 … K, and one to three fresh random symbols. One kind of piece has the last two symbols of the
motif exchanged: a head that compares bags of tokens cannot tell these from the motif. Pieces come in cycles, each a
random permutation of all kinds (the whole motif twice), so that no match length is more recent than another. Queries
are the ends of whole motifs after the first cycle: each of them has keys of every match length.
"""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING

import numpy as np
from jaxtyping import Bool, Int

from anyorder.errors import InputError, require
from anyorder.estimators.match_lengths import match_lengths

if TYPE_CHECKING:
    from anyorder.chains import Source

#: Most fresh random symbols after a piece.
FRESH = 3
#: Pairs of a query and a key in which all K offsets agree that are expected in all sequences together, at least.
PAIRS = 400
#: Most queries of a uniform sequence whose rows are kept for the spectrum.
QUERIES = 8


@dataclasses.dataclass(frozen=True)
class Sequences:
    """Symbols 0 … m - 1 of every sequence, and the positions at which heads are looked at."""

    tokens: Int[np.ndarray, "sequences length"]
    queries: Bool[np.ndarray, "sequences length"]


def shortest(max_length: int) -> int:
    """The length of a sequence in which one query is certain: two cycles of the longest pieces.

    >>> shortest(5)
    110
    """
    pieces = max_length + 3
    return 2 * (pieces * (1 + FRESH) + max_length * (max_length + 1) // 2 + 2 * max_length) - 4


def sequences(count: int = 48, *, length: int = 192, symbols: int = 4, max_length: int = 5, seed: int = 0) -> Sequences:
    """Draw sequences for `spectrum`.

    >>> drawn = sequences(2, length=96, symbols=4, max_length=3)
    >>> drawn.tokens.shape, bool(drawn.queries.any(axis=1).all())
    ((2, 96), True)
    """
    require(count >= 1, f"sequences is {count}, must be at least 1")
    require(symbols >= 2, f"symbols is {symbols}, must be at least 2: with one symbol every key matches")
    require(max_length >= 2, f"max length is {max_length}, must be at least 2")
    least = shortest(max_length)
    require(
        length >= least,
        f"length is {length}, must be at least {least} for match lengths up to {max_length}; "
        "lengthen the sequences or lower the max length",
    )
    generator = np.random.default_rng(seed)
    drawn = [_one(generator, length, symbols, max_length) for _ in range(count)]
    return Sequences(np.stack([tokens for tokens, _ in drawn]), np.stack([queries for _, queries in drawn]))


def fitting(count: int, length: int, symbols: range, max_length: int) -> tuple[int, int]:
    """The number of symbols, the largest of a range, and K, at most `max_length`, for which all patterns occur often.

    >>> fitting(48, 192, range(2, 5), 5), fitting(48, 192, range(2, 5), 9), fitting(48, 32, range(2, 3), 9)
    ((4, 5), (2, 9), (2, 5))
    """
    require(max_length >= 2, f"max length is {max_length}, must be at least 2")
    for longest in range(max_length, 1, -1):
        pairs = count * (length - longest) * (length - longest - 1) // 2 if length > longest else 0
        for number in reversed(symbols):
            if pairs >= PAIRS * number**longest:
                return number, longest
    raise InputError(
        f"length is {length}, too short for {count} sequences of {symbols[0]} symbols; take longer or more sequences"
    )


def uniform(count: int = 48, *, length: int = 192, symbols: int = 4, max_length: int = 5, seed: int = 0) -> Sequences:
    """Uniform random tokens; queries are positions of the second half, first those with a key that matches K tokens.

    >>> drawn = uniform(2, length=96, symbols=4, max_length=3)
    >>> drawn.tokens.shape, drawn.queries.sum(axis=1).tolist()
    ((2, 96), [8, 8])
    """
    require(count >= 1, f"sequences is {count}, must be at least 1")
    require(symbols >= 2, f"symbols is {symbols}, must be at least 2: with one symbol every key matches")
    require(length > max_length + 1, f"length is {length}, must be at least {max_length + 2} for this max length")
    generator = np.random.default_rng(seed)
    tokens = generator.integers(symbols, size=(count, length))
    rank = generator.random(tokens.shape) - 2 * (np.arange(length) < length // 2)
    rank += [(match_lengths(row, max_length) == max_length).any(axis=1) for row in tokens]
    return Sequences(tokens, rank >= np.sort(rank, axis=1)[:, -min(QUERIES, length // 2), None])


def drawn_from(source: Source, count: int, *, max_length: int = 5, seed: int = 0) -> Sequences:
    """Sequences of a source instead; the queries are all positions from K on, and long matches may be rare.

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


def _one(generator: np.random.Generator, length: int, symbols: int, longest: int) -> tuple[np.ndarray, np.ndarray]:
    """One sequence: cycles of pieces of every kind, each in random order."""

    def other(than: int) -> int:
        return int((than + generator.integers(1, symbols)) % symbols)

    motif = generator.integers(symbols, size=longest).tolist()
    motif[-2] = other(motif[-1])  # so that the motif with its last two symbols exchanged is another word
    exchanged = [*motif[:-2], motif[-1], motif[-2]]
    cycle = [*range(longest + 1), longest, -1]  # -1: the exchanged motif
    left: list[int] = []
    tokens: list[int] = []
    queries: list[int] = []
    first = True
    while len(tokens) < length:
        if not left:
            first = not tokens
            left = generator.permutation(cycle).tolist()
        kind = left.pop()
        word = exchanged if kind < 0 else motif[longest - kind :]
        before = motif[-len(word) - 1] if len(word) < longest else int(generator.integers(symbols))
        tokens += [other(before), *word]
        if kind == longest and not first:
            queries.append(len(tokens) - 1)
        tokens += generator.integers(symbols, size=generator.integers(1, FRESH + 1)).tolist()
    marked = np.zeros(length, bool)
    marked[[place for place in queries if place < length]] = True
    return np.asarray(tokens[:length], np.int64), marked
