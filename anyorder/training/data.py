"""From a config to chains: the prior, the noise, and batches of sequences with the tokens that count."""

from __future__ import annotations

from typing import Any

import jax.numpy as jnp
from jaxtyping import Array, Float, PRNGKeyArray

from anyorder import chains
from anyorder.chains import Chains, Prior
from anyorder.chains.noise import Noise
from anyorder.training.config import Data


def prior(data: Data, gamma: float | Float[Array, ""] | None = None) -> Prior:
    """Where kernels come from; `gamma` replaces that of the data, where it is an input of a compiled program.

    >>> prior(Data(order=3)).order
    3
    """
    return chains.named_prior(
        data.prior,
        data.order,
        data.alphabet_size,
        gamma=data.gamma if gamma is None else gamma,
        concentration=data.concentration,
    )


def level(data: Data) -> float:
    """How much noise there is, of either kind."""
    return data.token_noise or data.transition_noise


def noise(data: Data, amount: float | Float[Array, ""] | None = None) -> Noise | None:
    """What disturbs the sequences; `amount` replaces the level of the data.

    >>> noise(Data()) is None
    True
    """
    if data.token_noise:
        return chains.TokenNoise(data.token_noise if amount is None else amount)
    if data.transition_noise:
        return chains.TransitionNoise(data.transition_noise if amount is None else amount)
    return None


def sequences(
    key: PRNGKeyArray,
    data: Data,
    count: int,
    dtype: Any = jnp.float64,
    *,
    gamma: float | Float[Array, ""] | None = None,
    amount: float | Float[Array, ""] | None = None,
    per_kernel: int = 1,
) -> Chains:
    """`count` sequences of T + 1 tokens, `per_kernel` from each kernel; see `prior` and `noise` for the numbers.

    >>> import jax
    >>> sequences(jax.random.key(0), Data(length=8), 5).tokens.shape
    (5, 9)
    """
    return chains.sample(
        key,
        prior(data, gamma),
        length=data.tokens,
        count=count,
        start=data.start,
        noise=noise(data, amount),
        dtype=dtype,
        per_kernel=per_kernel,
    )
