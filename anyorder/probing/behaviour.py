"""Compare a model's predictions with the in-context predictors of every order."""

from __future__ import annotations

import dataclasses
import itertools

import numpy as np
from jaxtyping import Float

from anyorder.errors import require
from anyorder.io.gates import gated
from anyorder.probing.spectrum import matched

#: Number of stretches of the sequence that are reported separately.
STRETCHES = 4


@dataclasses.dataclass(frozen=True)
class Behaviour:
    """Mean total variation distance from the model's predictions to predictors of order 0 … K, by stretch.

    Only positions where the context of every order has occurred before are compared. `kgram` predicts in-context
    frequencies, `bayes` add-one smoothing of the same counts. `positions[j]` is the first and the last position of
    stretch j, `order[j]` the order of the nearest predictor there (None: nothing to compare) and `count[j]` the number
    of positions compared. `on_symbols` is the model's total probability of the symbols of the sequence.
    """

    positions: tuple[tuple[int, int], ...]
    kgram: Float[np.ndarray, "stretches orders"]
    bayes: Float[np.ndarray, "stretches orders"]
    order: tuple[int | None, ...]
    count: tuple[int, ...]
    on_symbols: tuple[float, ...]


@gated
def behaviour(probabilities: np.ndarray, tokens: np.ndarray, *, max_length: int = 5) -> Behaviour:
    """Compare next-token probabilities (sequences, T, m) of a model with tokens (sequences, T) from 0 to m - 1.

    >>> tokens = np.array([[0, 0, 1, 1, 0, 0, 1, 1, 0, 0, 1, 1]])
    >>> act = behaviour(np.stack([_predictors(row, 2, 2)[0][2] for row in tokens]), tokens, max_length=2)
    >>> act.order[-1]
    2
    """
    tokens = np.atleast_2d(tokens)
    require(max_length >= 1, f"max length is {max_length}, must be at least 1")
    given = np.asarray(probabilities)
    fits = tokens.size > 0 and given.size % tokens.size == 0 and tokens.dtype.kind in "iu" and given.dtype.kind in "fiu"
    shapes = f"{tokens.shape} and {given.shape}"
    require(fits, f"tokens and probabilities have the shapes {shapes}, must be integers (n, T) and numbers (n, T, m)")
    probabilities = given.astype(np.float64).reshape(*tokens.shape, -1)
    symbols = probabilities.shape[-1]
    require(
        bool(tokens.min() >= 0 and tokens.max() < symbols),
        f"tokens are {tokens.min()} to {tokens.max()}, the probabilities are of {symbols} symbols; number them from 0",
    )
    on_symbols = probabilities.sum(axis=-1)
    model = probabilities / np.maximum(on_symbols, 1e-30)[..., None]
    # Axes: sequence, kind, order, position, symbol. Known: the context of every order has occurred before.
    predicted = np.array([_predictors(sequence, symbols, max_length) for sequence in tokens])
    known = ~np.isnan(predicted[:, 0, -1]).any(axis=-1)
    apart = np.where(known[:, None, None], np.abs(predicted - model[:, None, None]).sum(axis=-1) / 2, np.nan)
    edges = np.linspace(0, tokens.shape[1], STRETCHES + 1).astype(int)
    stretches = [slice(first, last) for first, last in itertools.pairwise(edges)]
    count = tuple(int(known[:, stretch].sum()) for stretch in stretches)
    means = np.full((2, STRETCHES, max_length + 1), np.nan)
    for place, stretch in enumerate(stretches):
        if count[place]:
            means[:, place] = np.nanmean(apart[..., stretch], axis=(0, 3))
    return Behaviour(
        positions=tuple((int(part.start), int(part.stop) - 1) for part in stretches),
        kgram=means[0],
        bayes=means[1],
        order=tuple(
            int(np.argmin(means[:, place].min(axis=0))) if count[place] else None for place in range(STRETCHES)
        ),
        count=count,
        on_symbols=tuple(float(on_symbols[:, stretch].mean()) for stretch in stretches),
    )


def _predictors(
    sequence: np.ndarray, symbols: int, longest: int
) -> tuple[Float[np.ndarray, "orders length symbols"], Float[np.ndarray, "orders length symbols"]]:
    """In-context k-gram (NaN at new contexts) and add-one predictions of order 0 … longest."""
    one_hot = np.eye(symbols)[sequence]
    keys = [np.tri(len(sequence)), *(matched(sequence, order) for order in range(1, longest + 1))]
    counts = np.stack([key.astype(np.float64) @ one_hot for key in keys])
    total = counts.sum(axis=-1, keepdims=True)
    with np.errstate(invalid="ignore"):
        return counts / total, (counts + 1) / (total + symbols)
