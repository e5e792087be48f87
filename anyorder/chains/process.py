"""Sources other than Markov chains: each sequence is drawn as a whole, with the distribution of every token."""

from __future__ import annotations

import jax.numpy as jnp
from jax.typing import DTypeLike
from jaxtyping import Array, Float, Int, PRNGKeyArray

from anyorder.chains.priors import Prior
from anyorder.errors import InputError


class Process(Prior):
    """A prior over sequences instead of kernels: hidden Markov models, switching chains, recall.

    Subclasses override `sequence`, not `draw`. `order` is the number of tokens before the first prediction that counts.
    """

    def sequence(
        self, key: PRNGKeyArray, length: int, dtype: DTypeLike = jnp.float64
    ) -> tuple[Int[Array, "length"], Float[Array, "length symbols"]]:
        """The tokens of one sequence, and the distribution that each was drawn from."""
        raise InputError(f"{type(self).__name__} has no method sequence(key, length, dtype); write one")

    def draw(self, key: PRNGKeyArray, dtype: DTypeLike = jnp.float64) -> Float[Array, "*contexts symbols"]:
        """Raise an error: a process has no kernels."""
        raise InputError(f"the prior {self.name} draws sequences and has no kernels; choose a prior over kernels")
