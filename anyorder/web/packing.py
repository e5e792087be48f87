"""Weights as plain JSON for the exported page: few numbers, with kappa as a parameter.

The weights of a construction are sparse and regular, so an array is its shape and its non-zero entries as runs
`[row, column, down, right, count, value]`. The value is a constant, or `[a, b, p]` for a + b · kappa^p, where p stands
in the entry of the construction. Dense arrays, of a trained model, are base64 of float32.
"""

from __future__ import annotations

import dataclasses
from functools import partial

import jax
import numpy as np
from jax.typing import ArrayLike
from jaxtyping import Float

from anyorder.constructions import Plan
from anyorder.models import Transformer
from anyorder.web.schema import Matrix

#: A kappa so large that the constant part of a weight is rounded off: divided by it, a weight is its factor of kappa.
HUGE = 2.0**200
#: Arrays with more runs than this are written as dense ones.
MOST_RUNS = 256

Number = int | float | list[float]
Packed = dict[str, object]


def pack(model: Transformer, huge: Transformer | None = None, power: float = 1.0) -> Packed:
    """A model as JSON; with `huge`, the model is that of kappa = 0, and `huge` the same at HUGE.

    >>> from anyorder.constructions import construct
    >>> pack(construct("bigram", order=1, alphabet_size=2, length=8))["embedding"]
    {'shape': [2, 6], 'runs': [[0, 0, 1, 1, 2, 1.0]]}
    """
    packed = dataclasses.asdict(jax.tree.map(partial(_packed, power), model, model if huge is None else huge))
    del packed["certificate"]
    return packed


def pack_plan(made: Plan) -> tuple[Packed, Transformer]:
    """A planned model as JSON, with kappa left open, and the model at a huge kappa."""
    none, huge = (made.construction.build(made.request, kappa, **made.options) for kappa in (0.0, HUGE))
    return pack(none, huge, made.construction.kappa_power), huge


def _packed(power: float, low: ArrayLike, high: ArrayLike) -> Packed:
    if np.ndim(low):
        return _array(power, np.atleast_2d(np.asarray(low, np.float64)), np.atleast_2d(np.asarray(high, np.float64)))
    return {"kappa": _number(power, float(np.asarray(low)), float(np.asarray(high)))}


def _number(power: float, low: float, high: float) -> Number:
    """A weight, from its values at kappa = 0 and HUGE.

    >>> _number(1.0, 3.0, 3.0), _number(0.5, 0.0, 3 * HUGE**0.5), _number(1.0, 0.5, 2 * HUGE)
    (3.0, [0.0, 3.0, 0.5], [0.5, 2.0, 1.0])
    """
    return low if low == high else [low + 0.0, high / HUGE**power, power]  # + 0.0: no negative zeros


def _array(power: float, low: Float[np.ndarray, "rows columns"], high: Float[np.ndarray, "rows columns"]) -> Packed:
    shape = list(low.shape)
    many = len(np.unique(low)) > MOST_RUNS + 1  # a run has one value
    runs = [] if many else _runs(power, low, high)
    if not many and len(runs) <= MOST_RUNS:
        return {"shape": shape, "runs": runs}
    return {"shape": shape, "dense": Matrix.of(low).values}


def _runs(
    power: float, low: Float[np.ndarray, "rows columns"], high: Float[np.ndarray, "rows columns"]
) -> list[list[Number]]:
    """Greedily, the longest run of equal entries from the first entry outside all runs; at most one run too many."""
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
            runs.append([*start, down, right, len(cells), _number(power, float(low[start]), float(high[start]))])
    return runs
