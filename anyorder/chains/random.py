"""Random numbers: JAX's generator in a form that a CPU computes in one pass.

`jax.random` compiles the twenty rounds of Threefry as a loop that stores its state after every four of them, and
uses half of the bits for 32-bit numbers. This is the bottleneck of sampling, so here the rounds are unrolled and all
bits are used. The bits are those of `jax.random.bits(key, (count,), uint64)`.
"""

from __future__ import annotations

import math
import operator
from typing import SupportsIndex

import jax
import jax.numpy as jnp
from jax.typing import DTypeLike
from jaxtyping import Array, Complex64, Float, Key, PRNGKeyArray, UInt32

from anyorder.errors import check_seed, is_whole, require, shown
from anyorder.io import numerics as numerics  # 64-bit numbers

#: Key schedule and rotations of Threefry-2x32-20 (Salmon et al., SC 2011).
PARITY = 0x1BD11BDA
ROTATIONS = ((13, 15, 26, 6), (17, 29, 16, 24))

Seed = SupportsIndex | PRNGKeyArray
"""An integer, of Python or NumPy, or a key of `jax.random`."""


def as_key(seed: Seed) -> PRNGKeyArray:
    """The key of an integer seed; a key is returned unchanged.

    >>> bool(as_key(3) == jax.random.key(3))
    True
    """
    if isinstance(seed, jax.Array):  # a key of either kind that JAX has
        typed = jnp.issubdtype(seed.dtype, jax.dtypes.prng_key)
        if (seed.shape, seed.dtype) == (() if typed else (2,), seed.dtype if typed else jnp.uint32):
            return seed
    require(is_whole(seed), f"the seed is {shown(seed)}, must be an integer or a key of jax.random")
    number = operator.index(seed)
    check_seed(number)
    return jax.random.key(number)


def uniforms(key: PRNGKeyArray, shape: tuple[int, ...], dtype: DTypeLike = jnp.float32) -> Float[Array, "*shape"]:
    """Uniform numbers in [0, 1): multiples of 2^-52 in float64, of 2^-24 in float32 and any narrower type.

    >>> uniforms(jax.random.key(0), (2, 3)).shape
    (2, 3)
    """
    total = math.prod(shape)
    if jnp.dtype(dtype) == jnp.float64:
        left, right = threefry(key, total)
        bits = left.astype(jnp.uint64) << 32 | right.astype(jnp.uint64)
        one = jnp.uint64(0x3FF0000000000000)  # the bits of 1.0: with 52 random ones below, a number in [1, 2)
        return jax.lax.bitcast_convert_type(bits >> 12 | one, jnp.float64).reshape(shape) - 1
    pairs = uniform_pairs(key, ((total + 1) // 2,))
    return jnp.stack([pairs.real, pairs.imag], axis=-1).ravel()[:total].reshape(shape)


def uniform_pairs(key: PRNGKeyArray, shape: tuple[int, ...]) -> Complex64[Array, "*shape"]:
    """Two uniform numbers in [0, 1), multiples of 2^-24, in the real and the imaginary part of each element.

    The two words of a Threefry counter give the two numbers. One array of complex numbers needs one pass over 32-bit
    lanes; with two arrays the rounds would run twice, and 64-bit words would use half as many lanes.

    >>> pairs, key = uniform_pairs(jax.random.key(0), (2,)), jax.random.key(0)
    >>> [pairs[0].real, pairs[0].imag, pairs[1].real] == uniforms(key, (3,)).tolist()
    True
    """
    left, right = ((word >> 8).astype(jnp.float32) * jnp.float32(2**-24) for word in threefry(key, math.prod(shape)))
    return jax.lax.complex(right, left).reshape(shape)


def split(key: PRNGKeyArray, count: int) -> Key[Array, "count"]:
    """Independent keys, those of `jax.random.split(key, count)`.

    The barrier keeps the compiler from computing a key again wherever it is used.

    >>> bool((split(jax.random.key(3), 5) == jax.random.split(jax.random.key(3), 5)).all())
    True
    """
    return jax.random.wrap_key_data(jax.lax.optimization_barrier(jnp.stack(threefry(key, count), axis=-1)))


def threefry(key: PRNGKeyArray, count: int) -> tuple[UInt32[Array, "count"], UInt32[Array, "count"]]:
    """The high and the low word of `count` times 64 random bits: Threefry-2x32 of the counters 0, 1, …

    >>> bits = jax.random.bits(jax.random.key(3), (5,), jnp.uint64)
    >>> high, low = threefry(jax.random.key(3), 5)
    >>> bool(((high == bits >> 32) & (low == bits & 0xFFFFFFFF)).all())
    True
    """
    first, second = jax.random.key_data(key)
    keys = (first, second, first ^ second ^ jnp.uint32(PARITY))
    left = jnp.zeros(count, jnp.uint32) + keys[0]
    right = jnp.arange(count, dtype=jnp.uint32) + keys[1]
    for group in range(5):
        for rotation in ROTATIONS[group % 2]:
            left = left + right
            right = left ^ (right << rotation | right >> (32 - rotation))
        left = left + keys[(group + 1) % 3]
        right = right + keys[(group + 2) % 3] + jnp.uint32(group + 1)
    return left, right
