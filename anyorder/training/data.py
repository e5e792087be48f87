"""From a config to chains: the prior, the noise, and batches of sequences with the tokens that count."""

from __future__ import annotations

from typing import Any

import jax.numpy as jnp
from jaxtyping import PRNGKeyArray

from anyorder import chains
from anyorder.chains import Chains, Prior
from anyorder.chains.noise import Noise
from anyorder.training.config import Data


def prior(data: Data) -> Prior:
    """Where kernels come from.

    >>> prior(Data(order=3)).order
    3
    """
    if data.prior == "floored":
        return chains.Floored(data.order, data.alphabet_size, data.gamma)
    if data.prior == "reversible":
        return chains.Reversible(data.order, data.alphabet_size)
    return chains.Dirichlet(data.order, data.alphabet_size, data.concentration)


def noise(data: Data) -> Noise | None:
    """What disturbs the sequences.

    >>> noise(Data()) is None
    True
    """
    if data.token_noise:
        return chains.TokenNoise(data.token_noise)
    return chains.TransitionNoise(data.transition_noise) if data.transition_noise else None


def sequences(key: PRNGKeyArray, data: Data, count: int, dtype: Any = jnp.float64) -> Chains:
    """`count` sequences of T + 1 tokens, each from a kernel of its own.

    >>> import jax
    >>> sequences(jax.random.key(0), Data(length=8), 5).tokens.shape
    (5, 9)
    """
    return chains.sample(
        key, prior(data), length=data.tokens, count=count, start=data.start, noise=noise(data), dtype=dtype
    )
