"""Every sequence there is: all S^T sequences of a length, and the exact estimators as counts of whole numbers."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from jaxtyping import Bool, Float, Int

from anyorder.errors import require

#: More sequences than this are not enumerated: a quarter of them take up to a minute.
MOST_SEQUENCES = 1 << 20
BATCH = 1 << 12


def all_sequences(alphabet_size: int, length: int) -> Iterator[Int[np.ndarray, "batch length"]]:
    """All sequences in the order of their numbers in base S, some thousand at a time; the last batch may be short.

    >>> next(all_sequences(2, 2)).tolist()
    [[0, 0], [0, 1], [1, 0], [1, 1]]
    """
    total = alphabet_size**length
    places = alphabet_size ** np.arange(length - 1, -1, -1, dtype=np.int64)
    for start in range(0, total, BATCH):
        numbers = np.arange(start, min(start + BATCH, total), dtype=np.int64)
        yield numbers[:, None] // places % alphabet_size


def check_count(alphabet_size: int, length: int) -> None:
    """Refuse lengths with more sequences than are enumerated, and lengths below 2.

    >>> check_count(2, 30)
    Traceback (most recent call last):
    anyorder.errors.InputError: 2^30 sequences of length 30, at most 1048576 are enumerated; use length 20 or less
    """
    require(length >= 2, f"length is {length}, must be at least 2 to enumerate sequences")
    longest = max(t for t in range(1, 64) if alphabet_size**t <= MOST_SEQUENCES)
    require(
        alphabet_size**length <= MOST_SEQUENCES,
        f"{alphabet_size}^{length} sequences of length {length}, at most {MOST_SEQUENCES} are enumerated; "
        f"use length {longest} or less",
    )


def distributions(
    batch: Int[np.ndarray, "batch length"], order: int, alphabet_size: int, estimator: str, beta: float = 1.0
) -> Float[np.ndarray, "batch length symbols"]:
    """The exact estimator of every sequence after every position, as a quotient of counts; NaN where undefined.

    >>> distributions(np.array([[0, 1, 0]]), 1, 2, "kgram")[0, -1].tolist()
    [0.0, 1.0]
    """
    length = batch.shape[1]
    found = _matches(batch, order)
    if estimator == "biased":
        found |= _openings(batch, order)
    one_hot = (batch[:, :, None] == np.arange(alphabet_size)).astype(np.float64)
    counts = found.astype(np.float64) @ one_hot  # sums of ones
    total = counts.sum(axis=2, keepdims=True)
    smoothing = beta if estimator == "bayes" else 0.0
    with np.errstate(invalid="ignore"):
        rows = (counts + smoothing) / (total + smoothing * alphabet_size)
    rows[:, : min(order - 1, length)] = np.nan
    return rows


def _matches(batch: Int[np.ndarray, "batch length"], order: int) -> Bool[np.ndarray, "batch length length"]:
    """True at (n, i), k ≤ i ≤ n, where the k tokens before i are the last k tokens up to n."""
    length = batch.shape[1]
    found = np.zeros((len(batch), length, length), bool)
    for n in range(order - 1, length):
        for i in range(order, n + 1):
            found[:, n, i] = (batch[:, i - order : i] == batch[:, n - order + 1 : n + 1]).all(axis=1)
    return found


def _openings(batch: Int[np.ndarray, "batch length"], order: int) -> Bool[np.ndarray, "batch length length"]:
    """True at (n, i), i < k, where the opening before i and the window at n, repeated for ever, are one word (E7)."""
    length = batch.shape[1]
    found = np.zeros((len(batch), length, length), bool)
    for n in range(order - 1, length):
        window = batch[:, n - order + 1 : n + 1]
        for i in range(min(order, n + 1)):
            word = batch[:, : max(i, 1)]
            both = order * word.shape[1]
            repeated = [np.tile(part, both // part.shape[1]) for part in (window, word)]
            found[:, n, i] = (repeated[0] == repeated[1]).all(axis=1)
    return found
