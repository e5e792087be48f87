"""Test sequences in which keys of every match length occur often, whatever the number of symbols.

In uniform random tokens over m symbols a match of length ℓ has probability m^-ℓ: long matches hardly occur. Here every
sequence has a motif of K random symbols and is made of pieces: a symbol that breaks the match, the last ℓ symbols of
the motif with ℓ from 0 … K, and one to three fresh random symbols. Some pieces have the last two symbols of the motif
exchanged: a head that compares bags of tokens cannot tell these from the motif. Queries are the ends of whole motifs
from the place on where every kind of piece has occurred: each of them has keys of every match length.
"""

from __future__ import annotations

import dataclasses

import numpy as np
from jaxtyping import Bool, Int

from anyorder.errors import require

#: The share of pieces that hold the whole motif: only these end in a query.
WHOLE = 0.35
#: Most fresh random symbols after a piece.
FRESH = 3


@dataclasses.dataclass(frozen=True)
class Sequences:
    """Symbols 0 … m - 1 of every sequence, and the positions at which heads are looked at."""

    tokens: Int[np.ndarray, "sequences length"]
    queries: Bool[np.ndarray, "sequences length"]


def shortest(max_length: int) -> int:
    """The length of a sequence in which one query is certain.

    >>> shortest(5)
    54
    """
    opening = (max_length + 2) * (1 + FRESH) + max_length * (max_length + 1) // 2 + max_length
    return opening + 1 + max_length


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


def _one(generator: np.random.Generator, length: int, symbols: int, longest: int) -> tuple[np.ndarray, np.ndarray]:
    """One sequence: first a piece of every kind, in random order, then pieces at random."""

    def other(than: int) -> int:
        return int((than + generator.integers(1, symbols)) % symbols)

    motif = generator.integers(symbols, size=longest).tolist()
    motif[-2] = other(motif[-1])  # so that the motif with its last two symbols exchanged is another word
    exchanged = [*motif[:-2], motif[-1], motif[-2]]
    kinds = [*range(longest + 1), -1]  # -1: the exchanged motif
    opening = generator.permutation(kinds).tolist()
    tokens: list[int] = []
    queries: list[int] = []
    while len(tokens) < length:
        if opening:
            kind, counts = opening.pop(), False
        else:
            whole = not queries or generator.random() < WHOLE
            kind = longest if whole else int(generator.choice([*kinds[:longest], -1]))
            counts = kind == longest
        word = exchanged if kind < 0 else motif[longest - kind :]
        before = motif[-len(word) - 1] if len(word) < longest else int(generator.integers(symbols))
        tokens += [other(before), *word]
        if counts:
            queries.append(len(tokens) - 1)
        tokens += generator.integers(symbols, size=generator.integers(1, FRESH + 1)).tolist()
    marked = np.zeros(length, bool)
    marked[[place for place in queries if place < length]] = True
    return np.asarray(tokens[:length], np.int64), marked
