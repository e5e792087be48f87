"""Retrieval from a finite pool: the posterior over known chains, by their exact likelihoods in log space."""

from __future__ import annotations

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Int

from anyorder.chains.noise import Noise, TokenNoise
from anyorder.chains.sampling import stationary_contexts
from anyorder.errors import require, shown
from anyorder.estimators.counting import where_full
from anyorder.estimators.hidden import filtered
from anyorder.estimators.result import WeightedEstimate, estimator
from anyorder.estimators.unknown_order import coded
from anyorder.io.tokens import Tokens, as_tokens, check_unmasked

#: The logarithm of zero: finite, so that sequences that no chain can generate still have a posterior.
IMPOSSIBLE = -1e6


@estimator
def retrieval(
    tokens: Tokens,
    *,
    kernels: Float[Array, "chains *contexts symbols"],
    noise: Noise | None = None,
    first: int | None = None,
) -> WeightedEstimate:
    """The Bayes predictor for a uniform prior over these kernels: their rows, weighted by the posterior.

    kernels: one for each chain, all of one order; of order zero they are distributions (chains, S).
    first: position of the first token that counts as evidence; by default the order.

    >>> kernels = jnp.asarray([[[0.9, 0.1], [0.1, 0.9]], [[0.5, 0.5], [0.5, 0.5]]])
    >>> found = retrieval([0, 0, 0], kernels=kernels)
    >>> (found.posterior[-1] * 1.06).round(4).tolist()  # 0.9² and 0.5²
    [0.81, 0.25]
    """
    check_unmasked("kernels", kernels)
    numeric = getattr(getattr(kernels, "dtype", None), "kind", "") == "f" and kernels.ndim >= 2
    require(numeric, f"the kernels are {shown(kernels)}, must be an array (chains, contexts …, S) of probabilities")
    order, size = kernels.ndim - 2, kernels.shape[-1]
    first = order if first is None else first
    if isinstance(noise, TokenNoise):
        rows, evidence = jax.vmap(lambda kernel: filtered(tokens, kernel, noise))(kernels)
    else:
        tokens = as_tokens(tokens, None, size)
        rows = jax.vmap(lambda kernel: rows_after(tokens, kernel, noise))(kernels)
        likelihoods = jax.vmap(lambda row: coded(row, tokens, first))(rows)
        evidence = jnp.cumsum(jnp.maximum(likelihoods, IMPOSSIBLE), axis=1)
    posterior = jax.nn.softmax(evidence, axis=0).T
    probabilities, defined = where_full(jnp.einsum("nc,cns->ns", posterior, rows), first)
    return WeightedEstimate(probabilities, defined, jnp.where(defined[:, None], posterior, jnp.nan))


@estimator
def unigram_retrieval(tokens: Tokens, *, kernels: Float[Array, "chains *contexts symbols"]) -> WeightedEstimate:
    """Retrieval from single symbols: every chain is represented by its stationary distribution of symbols.

    >>> kernels = jnp.asarray([[[0.9, 0.1], [0.9, 0.1]], [[0.5, 0.5], [0.5, 0.5]]])
    >>> (unigram_retrieval([0, 0, 0], kernels=kernels).posterior[-1] * 1.06).round(4).tolist()
    [0.81, 0.25]
    """
    chains, size = len(kernels), kernels.shape[-1]
    contexts = jax.vmap(stationary_contexts)(kernels.reshape(chains, -1, size))
    symbols = contexts.reshape(chains, size, -1).sum(axis=2)
    return retrieval(tokens, kernels=symbols, first=kernels.ndim - 2)


def rows_after(
    tokens: Int[Array, "length"], kernel: Float[Array, "*contexts symbols"], noise: Noise | None = None
) -> Float[Array, "length symbols"]:
    """The row of the kernel after each window, under transition noise mixed with the uniform one.

    >>> rows_after(jnp.asarray([0, 1]), jnp.asarray([[0.9, 0.1], [0.5, 0.5]])).tolist()
    [[0.9, 0.1], [0.5, 0.5]]
    """
    size, order = kernel.shape[-1], kernel.ndim - 1
    windows = tuple(jnp.roll(tokens, order - 1 - place) for place in range(order))
    rows = jnp.broadcast_to(kernel[windows], (len(tokens), size))
    mixed = 0.0 if noise is None else noise.strength  # type: ignore[union-attr]
    return (1 - mixed) * rows + mixed / size
