"""The two noise processes of App. H: substituted tokens, and perturbed transitions."""

from __future__ import annotations

import numbers

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Int, PRNGKeyArray

from anyorder.errors import require, shown
from anyorder.io import numerics as numerics  # 64-bit numbers


def _check_probability(name: str, value: float | Array) -> None:
    given = isinstance(value, numbers.Real) and not isinstance(value, bool)
    scalar = isinstance(value, jax.Array) and value.shape == () and jnp.issubdtype(value.dtype, jnp.floating)
    require(given or scalar, f"{name} is {shown(value)}, must be a number between 0 and 1")
    if not isinstance(value, jax.core.Tracer):
        plain = value.item() if isinstance(value, jax.Array) else value
        require(bool(0 <= plain <= 1), f"{name} is {shown(plain)}, must be between 0 and 1")


class TokenNoise(eqx.Module):
    """Each token is replaced, with the given probability, by a *different* token, uniform among the others."""

    probability: float | Float[Array, ""]

    def __check_init__(self) -> None:
        _check_probability("token noise probability", self.probability)


class TransitionNoise(eqx.Module):
    """Every step uses (1 - α)·P_d + α·P_r with a P_r of Dirichlet(1) rows drawn for that step alone."""

    strength: float | Float[Array, ""]

    def __check_init__(self) -> None:
        _check_probability("transition noise strength", self.strength)


Noise = TokenNoise | TransitionNoise


def substitute(
    key: PRNGKeyArray, tokens: Int[Array, "length"], alphabet_size: int, noise: TokenNoise
) -> Int[Array, "length"]:
    """The sequence with tokens substituted.

    >>> clean = jnp.zeros(6, jnp.int32)
    >>> substitute(jax.random.key(0), clean, 2, TokenNoise(1.0)).tolist()
    [1, 1, 1, 1, 1, 1]
    """
    when, which = jax.random.split(key)
    replaced = jax.random.uniform(when, tokens.shape, jnp.float32) < noise.probability
    shift = jax.random.randint(which, tokens.shape, 1, alphabet_size, tokens.dtype)
    return jnp.where(replaced, (tokens + shift) % alphabet_size, tokens)


def observed(truth: Float[Array, "*batch symbols"], noise: TokenNoise) -> Float[Array, "*batch symbols"]:
    """The distribution of the observed token, given the distribution `truth` of the clean one.

    >>> observed(jnp.array([1.0, 0.0, 0.0]), TokenNoise(0.5)).tolist()
    [0.5, 0.25, 0.25]
    """
    kept = 1 - jnp.asarray(noise.probability, truth.dtype)
    return kept * truth + (1 - kept) * (1 - truth) / (truth.shape[-1] - 1)
