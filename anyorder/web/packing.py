"""Weights as plain JSON for the page that computes by itself: few numbers, and kappa left open.

The weights of a construction are sparse and regular, so an array is its shape and its non-zero entries as runs
`[row, column, down, right, count, value]`. How an entry depends on kappa is read off two builds at extreme kappas:
it is a constant, or a + b · kappa^p with p = 1/2 or 1, and then its value is `[a, b, p]`. Dense arrays, of a trained
model, are base64 of float32.
"""

from __future__ import annotations

import dataclasses

import jax
import numpy as np
from jax.typing import ArrayLike
from jaxtyping import Float

from anyorder.models import Transformer
from anyorder.web.schema import Matrix

#: The two kappas: next to the first no other number of a weight is lost, next to the second none is seen.
LOW, HIGH = 2.0**-200, 2.0**200
#: Arrays with more runs than this are written as dense ones.
MOST_RUNS = 256

Number = int | float | list[float]


def pack(low: Transformer, high: Transformer | None = None) -> dict[str, object]:
    """A model as JSON: one built twice, at kappa = LOW and HIGH, or one without a kappa.

    >>> from anyorder.constructions import construct
    >>> pack(construct("bigram", order=1, alphabet_size=2, length=8))["embedding"]
    {'shape': [2, 6], 'runs': [[0, 0, 1, 1, 2, 1.0]]}
    """
    packed = dataclasses.asdict(jax.tree.map(_packed, low, low if high is None else high))
    del packed["certificate"]
    return packed


def _packed(low: ArrayLike, high: ArrayLike) -> dict[str, object]:
    if np.ndim(low):
        return _array(np.atleast_2d(np.asarray(low, np.float64)), np.atleast_2d(np.asarray(high, np.float64)))
    return {"kappa": _number(float(np.asarray(low)), float(np.asarray(high)))}


def _number(low: float, high: float) -> Number:
    """How a weight depends on kappa.

    >>> _number(3.0, 3.0), _number(2.0 * LOW, 2.0 * HIGH), _number(LOW**0.5, HIGH**0.5), _number(0.5, HIGH)
    (3.0, [0.0, 2.0, 1.0], [0.0, 1.0, 0.5], [0.5, 1.0, 1.0])
    """
    if low == high:
        return low
    power = 1.0 if abs(high) > HIGH**0.75 else 0.5
    return [low if abs(low) > LOW**0.25 else 0.0, high / HIGH**power, power]


def _array(low: Float[np.ndarray, "rows columns"], high: Float[np.ndarray, "rows columns"]) -> dict[str, object]:
    shape = list(low.shape)
    many = len(np.unique(low)) > MOST_RUNS + 1  # a run has one value
    runs = [] if many else _runs(low, high)
    if not many and len(runs) <= MOST_RUNS:
        return {"shape": shape, "runs": runs}
    return {"shape": shape, "dense": Matrix.of(low).values}


def _runs(low: Float[np.ndarray, "rows columns"], high: Float[np.ndarray, "rows columns"]) -> list[list[Number]]:
    """Greedily, the longest run of equal entries from the first entry that no run holds yet; at most one too many."""
    left = {(int(row), int(column)) for row, column in np.argwhere((low != 0) | (high != 0))}

    def run(start: tuple[int, int], down: int, right: int) -> list[tuple[int, int]]:
        cells, cell = [], start
        while cell in left and (low[cell], high[cell]) == (low[start], high[start]):
            cells.append(cell)
            cell = cell[0] + down, cell[1] + right
        return cells

    runs: list[list[Number]] = []
    for start in sorted(left):
        if start in left and len(runs) <= MOST_RUNS:
            found = [(down, right, run(start, down, right)) for down, right in ((1, 1), (0, 1), (1, 0))]
            down, right, cells = max(found, key=lambda way: len(way[2]))
            left.difference_update(cells)
            runs.append([*start, down, right, len(cells), _number(float(low[start]), float(high[start]))])
    return runs
