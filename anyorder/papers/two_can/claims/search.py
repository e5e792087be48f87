"""Gradient ascent over kernels: statements about all chains are tested on the worst chain found, not on samples."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import optax
from jaxtyping import Array, Float, Scalar


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

    objective: of the parameters and of the share of steps taken, with which penalties and smoothing may sharpen;
        its value at share 1 counts. Where its gradient is not finite a start stays.

    >>> worst = ascend(lambda x, share: -((x - 2) ** 2).sum(), np.zeros((2, 3)), steps=300, rate=0.1)
    >>> abs(worst.value) < 1e-6, worst.parameters.round(3).tolist()
    (True, [2.0, 2.0, 2.0])
    """
    ends, values = _ascend(objective, jnp.asarray(starts), steps, rate)
    best = int(np.nanargmax(values))
    return Worst(float(values[best]), np.asarray(ends[best]))


@eqx.filter_jit
def _ascend(objective: Callable, starts: Array, steps: int, rate: float) -> tuple[Array, Array]:
    optimiser = optax.adam(optax.cosine_decay_schedule(rate, steps))
    slopes = jax.vmap(jax.grad(objective), in_axes=(0, None))

    def step(state: tuple[Array, optax.OptState], share: Array) -> tuple[tuple, None]:
        where, memory = state
        slope = slopes(where, share)
        updates, memory = optimiser.update(jnp.where(jnp.isfinite(slope), -slope, 0), memory)
        return (optax.apply_updates(where, updates), memory), None

    (ends, _), _ = jax.lax.scan(step, (starts, optimiser.init(starts)), jnp.linspace(0, 1, steps))
    return ends, jax.vmap(lambda end: objective(end, jnp.ones(())))(ends)
