"""Cross-entropy in nats, sampled or exact, and its excess over the true loss with standard errors.

Predictions are aligned once, here: row n of the predictions is compared with token n + 1. Losses have
one entry for each of the length - 1 predicted tokens, and NaN where the predictor is undefined.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Sequence
from typing import NamedTuple

import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from anyorder.errors import InputError, require, shown
from anyorder.estimators.result import Estimate, WeightedEstimate
from anyorder.io.gates import gated
from anyorder.io.tokens import Tokens, as_tokens, check_unmasked

#: Distributions after every position: an estimate, an array, or lists.
Rows = (
    Estimate
    | WeightedEstimate
    | Float[Array, "length symbols"]
    | Float[np.ndarray, "length symbols"]
    | Sequence[Sequence[float]]
)


def _rows(probabilities: Rows) -> Float[Array, "length symbols"]:
    if isinstance(probabilities, Estimate | WeightedEstimate):
        return probabilities.probabilities
    check_unmasked("probabilities", probabilities)
    try:
        rows = jnp.asarray(probabilities)
    except (TypeError, ValueError, OverflowError):
        rows = jnp.zeros(())
    if rows.ndim != 2 or rows.dtype.kind not in "fiubV":
        raise InputError(f"the probabilities are {shown(probabilities)}, must be an array (length, symbols) of numbers")
    return rows


def sampled_loss(probabilities: Rows, tokens: Tokens, *, alphabet: str | None = None) -> Float[Array, "predicted"]:
    """-log p(x_{n+1}): the loss on the sampled token; infinite if its predicted probability is zero.

    >>> sampled_loss([[0.5, 0.5], [0.25, 0.75]], [0, 1]).round(4).tolist()
    [0.6931]
    """
    rows = _rows(probabilities)
    came = as_tokens(tokens, None, rows.shape[1], alphabet=alphabet)
    require(len(came) == len(rows), f"{len(rows)} rows of probabilities for {len(came)} tokens; give a row for each")
    return -jnp.log(jnp.take_along_axis(rows[:-1], came[1:, None], axis=1)[:, 0])


def exact_loss(probabilities: Rows, truth: Rows) -> Float[Array, "predicted"]:
    """-Σ_s π(s) log p(s): the expectation of the sampled loss over the true next-token distribution.

    `truth[t]` is the distribution of token t, as `chains.sample` gives it.

    >>> exact_loss([[0.5, 0.5], [0.5, 0.5]], [[0.5, 0.5], [1.0, 0.0]]).round(4).tolist()
    [0.6931]
    """
    predicted, true = _rows(probabilities)[:-1], _rows(truth)[1:]
    shapes = f"{predicted.shape} and {true.shape}"
    require(predicted.shape == true.shape, f"predictions and truth have the shapes {shapes}; give a row for each token")
    possible = true > 0  # 0·log 0 is 0
    terms = jnp.where(possible, true * jnp.log(jnp.where(possible, predicted, 1)), 0)
    return jnp.where(jnp.isnan(predicted).any(axis=1), jnp.nan, -terms.sum(axis=1))


def true_loss(truth: Rows) -> Float[Array, "predicted"]:
    """The exact loss of the true distribution itself, its entropy: the least possible loss.

    >>> true_loss([[0.5, 0.5], [0.5, 0.5]]).round(4).tolist()
    [0.6931]
    """
    return exact_loss(jnp.roll(_rows(truth), -1, axis=0), truth)


@gated
def missed_probability(estimate: Estimate, truth: Float[Array, "length symbols"]) -> Float[Array, "predicted"]:
    """The true probability of tokens predicted with probability 0; if it is positive, the exact loss is infinite.

    >>> certain = Estimate(jnp.array([[1.0, 0.0], [1.0, 0.0]]), jnp.array([True, True]))
    >>> missed_probability(certain, jnp.array([[0.5, 0.5], [0.75, 0.25]])).tolist()
    [0.25]
    """
    missed = ((estimate.probabilities[:-1] == 0) * truth[1:]).sum(axis=1)
    return jnp.where(estimate.defined[:-1], missed, jnp.nan)


class LossSummary(NamedTuple):
    """A loss over many sequences: mean and standard error, per position and over all positions.

    Sequences are independent and positions of one sequence are not, so the error of the mean comes from
    the means of whole sequences. `coverage` is the fraction of positions where the loss is defined.
    """

    mean: float
    standard_error: float
    coverage: float
    position_mean: Float[np.ndarray, "predicted"]
    position_error: Float[np.ndarray, "predicted"]

    def __repr__(self) -> str:
        numbers = f"{self.mean:.6g} ± {self.standard_error:.2g}"
        return f"LossSummary({numbers}, {len(self.position_mean)} positions, {self.coverage:.1%} defined)"


@gated
def summarise(losses: Float[Array, "count predicted"] | Float[np.ndarray, "count predicted"]) -> LossSummary:
    """Mean and standard error of losses from independent sequences; NaN entries are left out.

    >>> summary = summarise(np.array([[np.nan, 1.0], [np.nan, 2.0]]))
    >>> summary.mean, summary.standard_error, summary.coverage
    (1.5, 0.5, 0.5)
    """
    values = np.asarray(losses, dtype=np.float64)
    require(len(values) >= 2, f"{len(values)} sequence has no standard error; give at least 2")
    position_mean, position_error = mean_and_error(values)
    sequence_means, _ = mean_and_error(values.T)
    mean, error = mean_and_error(sequence_means)
    return LossSummary(float(mean), float(error), float(1 - np.isnan(values).mean()), position_mean, position_error)


@dataclasses.dataclass
class Score:
    """The loss of a long sequence, from the predicted probability of each token (NaN: undefined).

    >>> score = Score()
    >>> score.add(np.array([np.nan, 0.5, 0.25]))
    >>> score.positions, score.scored, score.bits
    (3, 2, 1.5)
    """

    positions: int = 0
    scored: int = 0
    """Positions where the probability is defined."""
    zero_probability: int = 0
    """Tokens predicted with probability zero; any of them makes the loss infinite."""
    nats: float = 0.0

    def add(self, assigned: Float[np.ndarray, "chunk"]) -> None:
        """Add the probabilities of a chunk."""
        given = assigned[~np.isnan(assigned)]
        possible = given[given > 0]
        self.positions += assigned.size
        self.scored += given.size
        self.zero_probability += given.size - possible.size
        self.nats -= float(np.log(possible).sum())

    @property
    def loss(self) -> float | None:
        """Mean loss in nats; None if it is infinite or no token was scored."""
        return None if self.zero_probability or not self.scored else self.nats / self.scored

    @property
    def bits(self) -> float | None:
        """The mean loss in bits."""
        return None if self.loss is None else self.loss / math.log(2)


@gated
def mean_and_error(
    samples: Float[Array, "count *shape"] | Float[np.ndarray, "count *shape"],
) -> tuple[Float[np.ndarray, "*shape"], Float[np.ndarray, "*shape"]]:
    """Mean over independent samples and its standard error, entry by entry; NaN entries are left out.

    >>> [float(value) for value in mean_and_error(np.array([1.0, 2.0, np.nan]))]
    [1.5, 0.5]
    """
    values = np.asarray(samples, dtype=np.float64)
    there = ~np.isnan(values)
    count = there.sum(axis=0)
    with np.errstate(invalid="ignore", divide="ignore"):
        mean = np.where(there, values, 0).sum(axis=0) / count
        spread = np.where(there, np.square(values - mean), 0).sum(axis=0)
        return np.asarray(mean), np.asarray(np.sqrt(spread / (count - 1) / count))
