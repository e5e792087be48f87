"""Dropout where GPT-2 has it, as a hook of the forward pass; evaluation does not use it."""

from __future__ import annotations

import itertools

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, PRNGKeyArray

from anyorder.models.hooks import Hook, Place


def dropout(amount: float | Float[Array, ""], key: PRNGKeyArray) -> Hook:
    """A hook for one forward pass that sets this fraction of the numbers to zero and scales up the others.

    Dropped are embeddings, attention weights, and the sums that attention and MLP add to the stream.
    """
    numbers = itertools.count()

    def drop(place: Place, values: Float[Array, "*shape"]) -> Float[Array, "*shape"]:
        if place not in ("embedding", "attention", "written"):
            return values
        kept = 1 - jnp.asarray(amount, values.dtype)
        chosen = jax.random.bernoulli(jax.random.fold_in(key, next(numbers)), kept, values.shape)
        return jnp.where(chosen, values / kept, jnp.zeros_like(values))

    return drop
