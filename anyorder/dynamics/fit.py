"""A power law through a few points, with the standard error of its exponent."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from jaxtyping import Float

from anyorder.errors import require


class PowerLaw(NamedTuple):
    """y = factor · x^exponent, fitted to logarithms; the error is that of least squares, NaN for two points."""

    exponent: float
    standard_error: float
    factor: float


def power_law(x: Sequence[int] | Sequence[float], y: Sequence[float] | Float[np.ndarray, "points"]) -> PowerLaw:
    """Least squares of log y on log x.

    >>> power_law([1, 2, 4], [3.0, 6.0, 12.0]).exponent.__round__(9)
    1.0
    """
    require(len(x) >= 2 and len(set(x)) >= 2, f"{len(set(x))} different x, a power law needs at least 2")
    require(bool((np.asarray(y) > 0).all()), "a power law needs positive values")
    across, up = np.log(np.asarray(x, np.float64)), np.log(np.asarray(y, np.float64))
    centred = across - across.mean()
    exponent = float((centred @ up) / (centred @ centred))
    level = float(up.mean() - exponent * across.mean())
    free = len(across) - 2
    residual = up - level - exponent * across
    error = float(np.sqrt(residual @ residual / free / (centred @ centred))) if free else float("nan")
    return PowerLaw(exponent, error, float(np.exp(level)))
