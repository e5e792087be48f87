"""Test sequences for constructions: hard ones, from an explicit random generator, or all sequences of a length.

Random sequences contain many contexts, periodic ones with flips repeat long contexts and near misses of them,
sparse ones contain the nearest miss (a run of one symbol, and the run with its newest token changed), and
de Bruijn cycles contain every context of their order equally often.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np
from jaxtyping import Int

from anyorder.errors import check_seed, require

#: Most sequences that are enumerated; a quarter of them takes a minute or two.
MOST_SEQUENCES = 1 << 20
BATCH = 1 << 12

Maker = Callable[[np.random.Generator, int, int, int], Int[np.ndarray, "length"]]


def uniform(rng: np.random.Generator, length: int, symbols: int, order: int) -> Int[np.ndarray, "length"]:
    """Independent uniform tokens."""
    return rng.integers(0, symbols, length)


def periodic(rng: np.random.Generator, length: int, symbols: int, order: int) -> Int[np.ndarray, "length"]:
    """A random word of up to 2k + 4 tokens, repeated, with 3% of the tokens redrawn."""
    word = rng.integers(0, symbols, rng.integers(2, 2 * order + 5))
    return np.where(rng.random(length) < 0.03, rng.integers(0, symbols, length), np.resize(word, length))


def sparse(rng: np.random.Generator, length: int, symbols: int, order: int) -> Int[np.ndarray, "length"]:
    """A constant sequence with sparse other symbols, about one in 2k + 8."""
    flips = rng.random(length) < 1 / (2 * order + 8)
    return np.where(flips, rng.integers(0, symbols, length), rng.integers(0, symbols))


def de_bruijn(rng: np.random.Generator, length: int, symbols: int, order: int) -> Int[np.ndarray, "length"]:
    """A repeated de Bruijn cycle, rotated and renamed; its order is k, or less if it would not repeat three times.

    >>> de_bruijn(np.random.default_rng(0), 8, 2, 1).tolist()
    [0, 1, 0, 1, 0, 1, 0, 1]
    """
    while order > 1 and symbols**order > length // 3:
        order -= 1
    cycle = rng.permutation(symbols)[de_bruijn_cycle(symbols, order)]
    return np.resize(np.roll(cycle, rng.integers(len(cycle))), length)


def de_bruijn_cycle(symbols: int, order: int) -> Int[np.ndarray, "windows"]:
    """A cyclic sequence with each word of `order` symbols once: greedily the largest symbol that gives a new word.

    >>> de_bruijn_cycle(2, 3).tolist()
    [1, 1, 1, 0, 1, 0, 0, 0]
    """
    word, seen, cycle = (0,) * order, {(0,) * order}, []
    while len(seen) < symbols**order:
        for symbol in range(symbols - 1, -1, -1):
            following = (*word[1:], symbol)
            if following not in seen:
                break
        seen.add(following)
        cycle.append(symbol)
        word = following
    return np.array([*cycle, 0])


#: The four kinds, by name.
KINDS: dict[str, Maker] = {"random": uniform, "periodic": periodic, "sparse": sparse, "de-bruijn": de_bruijn}


def hard_sequences(
    *, count: int, length: int, alphabet_size: int, order: int, seed: int
) -> Int[np.ndarray, "count length"]:
    """`count` sequences, of the four kinds in turn.

    >>> hard_sequences(count=5, length=7, alphabet_size=2, order=1, seed=0).shape
    (5, 7)
    """
    check_seed(seed)
    rng = np.random.default_rng(seed)
    makers = list(KINDS.values())
    return np.stack([makers[i % len(makers)](rng, length, alphabet_size, order) for i in range(count)])


def all_sequences(alphabet_size: int, length: int) -> Iterator[Int[np.ndarray, "batch length"]]:
    """All sequences in the order of their numbers in base S, in batches; the last batch may be smaller.

    >>> next(all_sequences(2, 2)).tolist()
    [[0, 0], [0, 1], [1, 0], [1, 1]]
    """
    total = alphabet_size**length
    places = alphabet_size ** np.arange(length - 1, -1, -1, dtype=np.int64)
    for start in range(0, total, BATCH):
        numbers = np.arange(start, min(start + BATCH, total), dtype=np.int64)
        yield numbers[:, None] // places % alphabet_size


def check_count(alphabet_size: int, length: int) -> None:
    """Reject lengths with more sequences than are enumerated, and lengths below 2.

    >>> check_count(2, 30)
    Traceback (most recent call last):
    anyorder.errors.InputError: 2^30 sequences of length 30, at most 1048576 are enumerated; use length 20 or less
    """
    require(length >= 2, f"length is {length}, must be at least 2 to enumerate sequences")
    longest = max(t for t in range(1, 64) if alphabet_size**t <= MOST_SEQUENCES)
    require(
        length <= longest,
        f"{alphabet_size}^{length} sequences of length {length}, at most {MOST_SEQUENCES} are enumerated; "
        f"use length {longest} or less",
    )
