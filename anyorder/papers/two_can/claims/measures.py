"""Shared measuring functions: codes of contexts, verified constructions, drawn kernels, and the worst case by ascent.

Statements about all chains are tested on the worst chain that gradient ascent finds, not on samples.
"""

from __future__ import annotations

import functools
import itertools
from collections.abc import Callable
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
import optax
from jaxtyping import Array, Bool, Float, Int, Scalar
from numpy.typing import ArrayLike
from scipy.spatial.distance import pdist

from anyorder.chains import Prior
from anyorder.constructions import construct
from anyorder.constructions.construction import OptionValue
from anyorder.constructions.hard_sequences import hard_sequences
from anyorder.constructions.verify import Verification, verify
from anyorder.estimators import Estimate, kgram
from anyorder.models import Transformer

#: Cheap settings that suffice for a verdict; one sequence of each kind.
LENGTH, SEQUENCES = 128, 4
#: Above the rounding of float64 at the tested orders, far below the effect of any wrong weight.
TOLERANCE = 1e-6
#: Differences below this are rounding.
ROUNDING = 1e-12


def apart(first: ArrayLike, second: ArrayLike | int | float) -> float:
    """The largest absolute difference of two arrays, or of an array and a number.

    >>> apart([1.0, 2.0], [1.5, 2.0])
    0.5
    """
    return float(np.abs(np.asarray(first) - np.asarray(second)).max())


def never_rises(values: Float[np.ndarray, "*cases steps"]) -> Bool[np.ndarray, "*cases"]:
    """Whether no value exceeds the previous one.

    >>> never_rises(np.array([[3.0, 1.0, 1.0], [3.0, 1.0, 2.0]])).tolist()
    [True, False]
    """
    return np.asarray((np.diff(values) < ROUNDING).all(axis=-1))


@functools.cache
def verified(name: str, order: int, alphabet_size: int = 2) -> Verification:
    """A construction compared with its exact estimator on hard sequences; measured once per process."""
    return verify(name, order=order, alphabet_size=alphabet_size, length=LENGTH, sequences=SEQUENCES)


def built(name: str, order: int, *, force: bool = False, **options: OptionValue) -> Transformer:
    """A construction in float64 for two symbols and the common length."""
    return construct(name, order=order, alphabet_size=2, length=LENGTH, dtype="float64", force=force, **options)


def hard(order: int, alphabet_size: int = 2) -> Int[np.ndarray, "count length"]:
    """The common sequences."""
    return hard_sequences(count=SEQUENCES, length=LENGTH, alphabet_size=alphabet_size, order=order, seed=0)


def distance_to_kgram(
    predict: Callable[[Int[np.ndarray, "length"]], ArrayLike], order: int, estimate: Callable[..., Estimate] = kgram
) -> float:
    """The largest error against Definition 2, or another estimate, over the common sequences, where it is defined."""
    worst = 0.0
    for tokens in hard(order):
        exact, defined = map(np.asarray, estimate(tokens, order=order, alphabet_size=2))
        worst = max(worst, apart(np.asarray(predict(tokens))[defined], exact[defined]))
    return worst


def codes(alphabet_size: int, order: int, base: float = 3.0) -> Float[np.ndarray, "contexts symbols"]:
    """Σ_i base^(i-1) e_{x_{n-i}}, i = 1 … k, for all contexts, not yet divided by C; the oldest token weighs most.

    >>> codes(2, 2).tolist()
    [[4.0, 0.0], [3.0, 1.0], [1.0, 3.0], [0.0, 4.0]]
    """
    weights = base ** np.arange(order - 1, -1, -1)
    contexts = itertools.product(range(alphabet_size), repeat=order)  # oldest token first
    return np.stack([weights @ np.eye(alphabet_size)[list(context)] for context in contexts])


def directions(vectors: Float[np.ndarray, "count width"]) -> Float[np.ndarray, "count width"]:
    """Every row divided by its length."""
    return vectors / np.linalg.norm(vectors, axis=1, keepdims=True)


def nearest(vectors: Float[np.ndarray, "count width"]) -> float:
    """The smallest distance between the directions of two different rows."""
    return float(pdist(directions(vectors)).min())


@functools.cache
def drawn(prior: Prior, count: int, seed: int = 0) -> Float[np.ndarray, "count *kernel"]:
    """Kernels from a prior, drawn once per process."""
    return np.asarray(jax.jit(jax.vmap(lambda key: prior.draw(key)))(jax.random.split(jax.random.key(seed), count)))


class Worst(NamedTuple):
    """The largest value found, and its parameters."""

    value: float
    parameters: Float[np.ndarray, "..."]


def ascend(
    objective: Callable[[Float[Array, "..."], Scalar], Scalar],
    starts: Float[np.ndarray, "count ..."],
    *,
    steps: int = 1000,
    rate: float = 0.03,
) -> Worst:
    """Maximise an objective by Adam from several starts, and return the best end.

    objective: a function of the parameters and of the share of steps taken, with which penalties and smoothing may
        sharpen; the result is its value at share 1. A start stays where the gradient is not finite.

    >>> worst = ascend(lambda x, share: -((x - 2) ** 2).sum(), np.zeros((2, 3)), steps=300, rate=0.1)
    >>> abs(worst.value) < 1e-6, worst.parameters.round(3).tolist()
    (True, [2.0, 2.0, 2.0])
    """
    optimiser = optax.adam(optax.cosine_decay_schedule(rate, steps))
    slopes = jax.vmap(jax.grad(objective), in_axes=(0, None))

    def step(state: tuple[Array, optax.OptState], share: Array) -> tuple[tuple, None]:
        where, memory = state
        slope = slopes(where, share)
        updates, memory = optimiser.update(jnp.where(jnp.isfinite(slope), -slope, 0), memory)
        return (optax.apply_updates(where, updates), memory), None

    @jax.jit
    def climb(starts: Array) -> tuple[Array, Array]:
        (ends, _), _ = jax.lax.scan(step, (starts, optimiser.init(starts)), jnp.linspace(0, 1, steps))
        return ends, jax.vmap(lambda end: objective(end, jnp.ones(())))(ends)

    ends, values = map(np.asarray, climb(jnp.asarray(starts)))
    best = int(np.nanargmax(values))
    return Worst(float(values[best]), ends[best])
