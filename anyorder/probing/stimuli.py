"""Test sequences in which keys of every match length occur often, whatever the number of symbols.

In uniform random tokens over m symbols a match of length ℓ has probability m^-ℓ: long matches hardly occur. Here every
sequence has a motif of K random symbols and is made of pieces: a symbol that breaks the match, the last ℓ symbols of
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

from anyorder.errors import require

if TYPE_CHECKING:
    from anyorder.chains import Source

#: Most fresh random symbols after a piece.
FRESH = 3


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
