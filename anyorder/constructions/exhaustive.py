"""Every sequence there is: all S^T sequences of a length, and the exact estimators as counts of whole numbers."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Int

from anyorder.errors import require
from anyorder.estimators import matching

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
    counts = np.asarray(_counts(jnp.asarray(batch, jnp.int32), order, alphabet_size, estimator == "biased"), np.float64)
    total = counts.sum(axis=2, keepdims=True)
    smoothing = beta if estimator == "bayes" else 0.0
    with np.errstate(invalid="ignore"):
        rows = (counts + smoothing) / (total + smoothing * alphabet_size)
    rows[:, : order - 1] = np.nan
    return rows


@partial(jax.jit, static_argnums=(1, 2, 3))
def _counts(
    batch: Int[Array, "batch length"], order: int, alphabet_size: int, openings: bool
) -> Int[Array, "batch length symbols"]:
    """What followed the last k tokens, or with `openings` also an opening that points the same way (E7)."""

    def of_one(tokens: Int[Array, "length"]) -> Int[Array, "length symbols"]:
        found = matching.window_matches(tokens, order)
        found = found | matching.aligned_openings(tokens, order) if openings else found
        return matching.counts(found, tokens, alphabet_size)

    return jax.vmap(of_one)(batch)
