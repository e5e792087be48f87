"""The order of a head from its spectrum: whether there is a step, and where.

A head has an order if, for some k, keys that match at least k tokens get more attention than keys that match fewer.
The contrast of the two must be at least `LEAST_CONTRAST` times chance, and the mass on the longer matches must exceed
chance significantly: a one-sided t-test over sequences, corrected for the K candidate steps. The order is the match
length at which a monotone fit to the spectrum has made half of its rise; an ideal head of order k rises in one step, at
k. A head is graded if no single step has `STEP_SHARE` of the rise.
"""

from __future__ import annotations

import dataclasses
from typing import TypeAlias

import numpy as np
from jaxtyping import Float
from scipy import stats

from anyorder.errors import require
from anyorder.io.gates import gated
from anyorder.probing.spectrum import Spectrum, jackknife, quotient

ByLength: TypeAlias = Float[np.ndarray, "*rest _"]
"""Numbers by match length, or by the position 1 … K of a step."""
#: Least contrast of an order, in units of chance, however significant.
LEAST_CONTRAST = 1.0
#: Significance level: probability of finding an order in a head that has none.
LEVEL = 1e-3
#: A head is graded unless one step has this share of the rise.
STEP_SHARE = 2 / 3


@dataclasses.dataclass(frozen=True)
class Order:
    """The order of one head, None if it has none.

    `steps` are the shares of the rise at match lengths 1 … K; `mean` is the mean match length of these steps and
    `mean_error` its standard error over sequences. `capped`: the step is at K, so the order may be larger.
    `contrast` is the largest difference between keys that match at least k tokens and keys that match fewer, in units
    of chance; an order requires more than `threshold`. `deviation` is the excess mass on the longer matches in standard
    errors; an order requires more than `critical`.
    """

    order: int | None
    graded: bool
    capped: bool
    steps: tuple[float, ...]
    mean: float
    mean_error: float
    contrast: float
    contrast_error: float
    threshold: float
    deviation: float
    critical: float


@gated
def order(spectrum: Spectrum, *, level: float = LEVEL) -> Order:
    """Read the order off the spectrum of one head.

    >>> from anyorder.probing import matched
    >>> from anyorder.probing import spectrum
    >>> from anyorder.probing import sequences
    >>> drawn = sequences(8, max_length=4)
    >>> ideal = np.stack([matched(row, 3) + 1e-6 * np.tri(len(row)) for row in drawn.tokens])
    >>> ideal /= ideal.sum(axis=-1, keepdims=True)
    >>> found = order(spectrum(ideal, drawn.tokens, max_length=4, queries=drawn.queries))
    >>> found.order, found.graded
    (3, False)
    """
    require(
        spectrum.mass.ndim == 2,
        f"the spectrum has heads of shape {spectrum.mass.shape[1:-1]}, must be of one head; select one: spectrum[0, 3]",
    )
    require(
        len(spectrum.mass) >= 2,
        "the spectrum is of 1 sequence, an order needs at least 2 to tell it from noise; 8 or more are better",
    )
    mass, chance = spectrum.mass.sum(axis=0), spectrum.chance.sum(axis=0)
    left_out = mass - spectrum.mass, chance - spectrum.chance
    contrasts, errors = _contrasts(mass, chance), jackknife(_contrasts(*left_out))
    with np.errstate(divide="ignore", invalid="ignore"):
        deviations = _excess(mass, chance) / jackknife(_excess(*left_out))
    critical = float(stats.t.isf(level / spectrum.max_length, len(spectrum.mass) - 1))
    passing = (contrasts > LEAST_CONTRAST) & (deviations > critical)
    best = int(np.argmax(np.nan_to_num(contrasts, nan=-np.inf) + np.where(passing, 1e9, 0.0)))
    steps, mean = _steps(spectrum.ratio, chance)
    found = bool(passing[best])
    means = np.array([_steps(*pair)[1] for pair in zip(spectrum.replicates, left_out[1], strict=True) if found])
    half = int(np.searchsorted(np.cumsum(steps), 0.5 - 1e-9)) + 1
    return Order(
        order=half if found else None,
        graded=found and bool(steps.max() < STEP_SHARE),
        capped=found and half == spectrum.max_length,
        steps=tuple(float(share) for share in steps),
        mean=mean if found else float("nan"),
        mean_error=float(jackknife(means)) if found else float("nan"),
        contrast=float(contrasts[best]),
        contrast_error=float(errors[best]),
        threshold=LEAST_CONTRAST,
        deviation=float(deviations[best]),
        critical=critical,
    )


def _contrasts(mass: ByLength, chance: ByLength) -> ByLength:
    """Mass over chance at match lengths ≥ k, minus the same at shorter match lengths, for k = 1 … K."""
    shorter = (np.cumsum(values, axis=-1)[..., :-1] for values in (mass, chance))
    return quotient(_above(mass), _above(chance)) - quotient(*shorter)


def _excess(mass: ByLength, chance: ByLength) -> ByLength:
    """Share of attention at match lengths ≥ k in excess of chance."""
    return quotient(_above(mass - chance), mass.sum(axis=-1, keepdims=True))


def _above(values: ByLength) -> ByLength:
    return np.cumsum(values[..., ::-1], axis=-1)[..., ::-1][..., 1:]


def _steps(
    ratio: Float[np.ndarray, "lengths"], chance: Float[np.ndarray, "lengths"]
) -> tuple[Float[np.ndarray, "steps"], float]:
    """Shares of the rise at 1 … K, and the mean match length of the steps."""
    from scipy.optimize import isotonic_regression

    seen = ~np.isnan(ratio)
    if not seen.any():  # all attention is on the first key or on the query itself
        return np.zeros(len(ratio) - 1), 0.0
    rising = np.zeros_like(ratio)
    rising[seen] = isotonic_regression(ratio[seen], weights=chance[seen]).x
    places = np.arange(len(ratio))
    rising = np.interp(places, places[seen], rising[seen])
    steps = np.diff(rising)
    steps = steps / max(steps.sum(), 1e-12)
    return steps, float((steps * places[1:]).sum())
