"""What every estimator gives: a distribution after each position, and where it is defined."""

from __future__ import annotations

from typing import NamedTuple

from jaxtyping import Array, Bool, Float


class Estimate(NamedTuple):
    """Next-token distributions after every position; rows that are not defined are NaN."""

    probabilities: Float[Array, "length symbols"]
    defined: Bool[Array, "length"]


class WeightedEstimate(NamedTuple):
    """An `Estimate` that mixes predictors of several orders, with the weight of each in every distribution."""

    probabilities: Float[Array, "length symbols"]
    defined: Bool[Array, "length"]
    posterior: Float[Array, "length orders"]
