"""Arithmetic that stays in the dtype it names.

XLA may keep the intermediate results of a fused float16 computation in float32. `stored` rounds a value to
its own dtype wherever the mathematics assigns it, so that a 16-bit model really computes in 16 bits.
Only inside *one* dot product may the hardware accumulate in a wider type; therefore sums are written as dot products.
"""

from __future__ import annotations

import jax.numpy as jnp
import numpy as np
from jax import lax
from jaxtyping import Array, Float

from anyorder.io import numerics as numerics  # 64-bit numbers

#: Arrays of a model: NumPy's while a construction is built, JAX's in a complete model.
Weights = Array | np.ndarray


def stored(x: Float[Array, "..."]) -> Float[Array, "..."]:
    """Round to the dtype of `x`, even where the compiler would keep more bits.

    >>> stored(jnp.asarray([0.1], jnp.float16)).dtype
    dtype('float16')
    """
    information = jnp.finfo(x.dtype)
    if information.bits >= 32:
        return x
    return lax.reduce_precision(x, information.nexp, information.nmant)


def linear(
    x: Float[Weights, "rows inputs"],
    weight: Float[Weights, "outputs inputs"],
    bias: Float[Weights, "outputs"] | None = None,
) -> Float[Array, "rows outputs"]:
    """Apply W x + b to every row.

    >>> linear(jnp.asarray([[1.0, 2.0]], jnp.float32), jnp.asarray([[3.0, 4.0]], jnp.float32)).tolist()
    [[11.0]]
    """
    product = stored(jnp.asarray(x) @ weight.T)
    return product if bias is None else stored(product + bias)


def total(x: Float[Array, "*rows width"]) -> Float[Array, "*rows 1"]:
    """Sum over the last axis, as a dot product with ones.

    >>> total(jnp.asarray([1.0, 2.0], jnp.float32)).tolist()
    [3.0]
    """
    return stored(x @ jnp.ones((x.shape[-1], 1), x.dtype))


def quotient(x: Float[Array, "*rows width"], divisor: Float[Array, "*rows 1"]) -> Float[Array, "*rows width"]:
    """Each row divided by its divisor, correctly rounded: n / n is 1.

    XLA would multiply the row by one rounded reciprocal, and 49 · (1/49) is not 1; the barrier stops that.

    >>> quotient(jnp.asarray([[49.0, 7.0]], jnp.float64), jnp.asarray([[49.0]], jnp.float64)).tolist()
    [[1.0, 0.14285714285714285]]
    """
    return stored(x / lax.optimization_barrier(jnp.broadcast_to(divisor, x.shape)))


def unit(x: Float[Array, "*rows width"]) -> Float[Array, "*rows width"]:
    """The direction v / ‖v‖ of every row, zero for a zero row (App. A.1); its gradient is finite everywhere.

    >>> unit(jnp.asarray([[3.0, 4.0], [0.0, 0.0]], jnp.float64)).tolist()
    [[0.6, 0.8], [0.0, 0.0]]
    """
    squared = total(stored(x * x))
    return quotient(x, stored(jnp.sqrt(jnp.where(squared > 0, squared, jnp.ones_like(squared)))))


def convolve(taps: Float[Weights, "taps d"], x: Float[Array, "rows d"]) -> Float[Array, "rows d"]:
    """A causal depthwise convolution: Σ_j taps[j] ⊙ x_{n-j} at every row n; rows before the first are zero.

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
