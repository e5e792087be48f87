"""Sequences from a finite pool of chains: a model may retrieve the chain, or infer its rows in context."""

from __future__ import annotations

import math
from typing import ClassVar

import equinox as eqx
import jax
import jax.numpy as jnp
from jax.typing import DTypeLike
from jaxtyping import Array, Float, PRNGKeyArray

from anyorder.chains.kernel import dense_shape
from anyorder.chains.priors import Prior, dirichlet_rows
from anyorder.chains.random import as_key, split
from anyorder.errors import require
from anyorder.io.gates import check_memory, gated


class Pool(Prior):
    """The uniform prior over N kernels, which are given or drawn once with Dirichlet rows.

    >>> pool = Pool(order=1, alphabet_size=3, chains=4)
    >>> pool.kernels.shape, bool((pool.draw(jax.random.key(0)) == pool.kernels).all(axis=(1, 2)).any())
    ((4, 3, 3), True)
    """

    name: ClassVar[str] = "pool"
    kernels: Float[Array, "chains *contexts symbols"]
    concentration: float = eqx.field(static=True)
    pool_seed: int = eqx.field(static=True)

    @gated
    def __init__(
        self,
        order: int = 1,
        alphabet_size: int = 2,
        chains: int = 16,
        concentration: float = 1.0,
        pool_seed: int = 0,
        kernels: Float[Array, "chains *contexts symbols"] | None = None,
    ) -> None:
        require(chains >= 1, f"chains is {chains}, must be at least 1; pass `chains=1` or more")
        self.order, self.alphabet_size = order, alphabet_size
        self.concentration, self.pool_seed = concentration, pool_seed
        shape = dense_shape(order, alphabet_size)
        numbers = f"{chains} kernels of order {order} over {alphabet_size} symbols"
        check_memory(16 * chains * math.prod(shape), numbers, "pass a smaller `chains=` or `order=`")
        if kernels is None:
            # Always in float64: training and evaluation must have the same pool.
            keys = split(as_key(pool_seed), chains)
            kernels = jax.vmap(lambda key: dirichlet_rows(key, shape, concentration, jnp.float64))(keys)
        require(
            kernels.shape[1:] == shape,
            f"the pool has kernels of shape {kernels.shape[1:]}, must be {shape} for order {order} over "
            f"{alphabet_size} symbols",
        )
        self.kernels = kernels

    @property
    def chains(self) -> int:
        """The number of kernels."""
        return len(self.kernels)

    def draw(self, key: PRNGKeyArray, dtype: DTypeLike = jnp.float64) -> Float[Array, "*contexts symbols"]:
        """One of the kernels."""
        return jax.random.choice(key, self.kernels).astype(dtype)
