"""A causal depthwise convolution: every coordinate of a row is mixed with its own values in the rows before."""

from __future__ import annotations

import jax.numpy as jnp
from jaxtyping import Array, Float

from anyorder.models.arithmetic import Weights, stored


def convolve(taps: Float[Weights, "taps d"], x: Float[Array, "rows d"]) -> Float[Array, "rows d"]:
    """Σ_j taps[j] ⊙ x_{n-j} at every row n; rows before the first are zero.

    >>> shift = jnp.asarray([[1.0, 0.0], [0.0, 1.0]], jnp.float32)  # the second coordinate comes one row late
    >>> convolve(shift, jnp.asarray([[1.0, 1.0], [2.0, 2.0]], jnp.float32)).tolist()
    [[1.0, 0.0], [2.0, 1.0]]
    """
    rows, before = len(x), len(taps) - 1
    padded = jnp.pad(x, ((before, 0), (0, 0)))
    mixed = stored(taps[0] * x)
    for offset in range(1, before + 1):
        mixed = stored(mixed + stored(taps[offset] * padded[before - offset : before - offset + rows]))
    return mixed
