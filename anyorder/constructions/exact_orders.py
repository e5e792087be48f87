"""The largest order at which each construction *measured* exact, by dtype.

Measuring them all takes minutes, so the numbers are kept in `exact_orders.json` beside this file, written by
`python -m benchmarks.exact_orders --write`; tests measure a part of them again.
"""

from __future__ import annotations

import dataclasses
import functools
import json
from pathlib import Path

import numpy as np

from anyorder.constructions.certificate import unit_roundoff
from anyorder.constructions.registry import construct
from anyorder.constructions.sequences import hard_sequences
from anyorder.constructions.verify import errors
from anyorder.numerics import DTYPES

PATH = Path(__file__).with_name("exact_orders.json")
TOLERANCE = 1e-5
#: No order above these is tried. Where margins do not shrink with the order, a few orders say it all; the size of
#: `disentangled` grows with (order · length)², so that its sequences are short too.
LAST_ORDER = {"k-head": 16, "k-head-bayes": 16, "disentangled": 4, "bigram": 1, "associative": 1}
ALPHABET_SIZES = (2, 4)


@dataclasses.dataclass(frozen=True)
class ExactOrder:
    """Orders up to `exact` have errors of at most 1e-5, up to `resolved` of at most max(1e-5, 4u).

    u is the unit roundoff: 16-bit types cannot show 1e-5, so `resolved` is what they can do. Zero means not
    even order 1; an order equal to `tried` has no known end. `length` is that of the sequences.
    """

    exact: int
    resolved: int
    tried: int
    length: int


def measure(name: str, dtype: str, *, length: int | None = None) -> ExactOrder:
    """Try order after order, built by force, until neither tolerance holds."""
    length = length or (64 if name == "disentangled" else 1024)
    tried = LAST_ORDER.get(name, 32)
    resolution = max(TOLERANCE, 4 * unit_roundoff(dtype))
    exact = resolved = 0
    for order in range(1, tried + 1):
        worst = max(worst_error(name, order, symbols, length, dtype) for symbols in ALPHABET_SIZES)
        exact = order if worst <= TOLERANCE and exact == order - 1 else exact
        if worst > resolution:
            break
        resolved = order
    return ExactOrder(exact, resolved, tried, length)


def worst_error(name: str, order: int, alphabet_size: int, length: int, dtype: str) -> float:
    """The largest error on four hard sequences, one of each kind."""
    model = construct(name, order=order, alphabet_size=alphabet_size, length=length, dtype=dtype, force=True)
    batch = hard_sequences(count=4, length=length, alphabet_size=alphabet_size, order=order, seed=order)
    return float(np.nanmax(errors(model, batch, order), initial=0.0))


@functools.cache
def measured() -> dict[str, dict[str, ExactOrder]]:
    """The numbers on file, by construction and dtype.

    >>> measured()["dyadic"]["float32"].exact >= 10
    True
    """
    table = json.loads(PATH.read_text(encoding="utf-8"))
    return {name: {dtype: ExactOrder(**row[dtype]) for dtype in DTYPES} for name, row in table.items()}
