"""Prediction under token noise: the chain is hidden, and only a noisy copy of its tokens is observed.

If the kernel is known, the forward filter is exact, and no predictor from the observed tokens is better on average. If
it is unknown, the Bayes predictor is the mean of the filters of all kernels, weighted by their likelihood so far; the
mean over the prior is an integral, computed with the given nodes.
"""

from __future__ import annotations

import itertools
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Int

from anyorder.chains.lifted_chain import successors
from anyorder.chains.noise import TokenNoise, observed
from anyorder.errors import require
from anyorder.io.gates import gated
from anyorder.io.tokens import Tokens, as_tokens


class Filtered(NamedTuple):
    """Row n predicts token n + 1; `evidence[n]` is the logarithm of the probability of tokens 0 … n."""

    probabilities: Float[Array, "length symbols"]
    evidence: Float[Array, "length"]


@gated
def filtered(tokens: Tokens, kernel: Float[Array, "*contexts symbols"], noise: TokenNoise) -> Filtered:
    """The exact filter that knows the kernel; the first k clean tokens are uniform.

    >>> kernel = jnp.asarray([[0.9, 0.1], [0.2, 0.8]])
    >>> filtered([0, 1], kernel, TokenNoise(0.0)).probabilities.round(3).tolist()
    [[0.9, 0.1], [0.2, 0.8]]
    """
    require(kernel.ndim >= 2, f"the kernel has shape {kernel.shape}, must be (S,)*k + (S,) with k >= 1")
    size, order = kernel.shape[-1], kernel.ndim - 1
    tokens = as_tokens(tokens, None, size)
    rows = jnp.asarray(kernel, jnp.result_type(kernel, jnp.float32)).reshape(-1, size)
    after = jnp.asarray(successors(len(rows), size), jnp.int32)
    uniform = jnp.full_like(rows, 1 / size)
    channel = observed(jnp.eye(size, dtype=rows.dtype), noise)  # [clean, seen]

    def row_at(time: Int[Array, ""]) -> Float[Array, "contexts symbols"]:
        return jnp.where(time < order, uniform, rows)

    def step(
        state: tuple[Float[Array, "contexts"], Float[Array, ""]], now: tuple[Int[Array, ""], Int[Array, ""]]
    ) -> tuple[tuple[Array, Array], tuple[Array, Array]]:
        belief, evidence = state
        time, token = now
        joint = belief[:, None] * row_at(time) * channel[:, token][None, :]
        total = joint.sum()
        belief = jnp.zeros_like(belief).at[after].add(joint / total)
        evidence = evidence + jnp.log(total)
        return (belief, evidence), ((belief @ row_at(time + 1)) @ channel, evidence)

    begin = jnp.full(len(rows), 1 / len(rows), rows.dtype), jnp.zeros((), rows.dtype)
    times = jnp.arange(len(tokens), dtype=jnp.int32)
    _, (predicted, evidence) = jax.lax.scan(step, begin, (times, tokens))
    return Filtered(predicted, evidence)


class Nodes(NamedTuple):
    """Kernels and the weight of each in a mean over the prior."""

    kernels: Float[Array, "nodes *contexts symbols"]
    weights: Float[Array, "nodes"]


@gated
def uniform_nodes(order: int, points: int) -> Nodes:
    """Gauss-Legendre nodes for binary kernels with uniform rows, `points` for each of the 2^k rows.

    The likelihood of T tokens is a polynomial of degree T in each row, so that (T + 1)/2 points are exact.

    >>> nodes = uniform_nodes(1, 3)
    >>> nodes.kernels.shape, round(float(nodes.weights.sum()), 12)
    ((9, 2, 2), 1.0)
    """
    require(1 <= order <= 18 and points >= 1, f"order {order} and {points} points, must be 1 to 18 and at least 1")
    contexts = 2**order
    require(points**contexts <= 1 << 18, f"{points} points for each of {contexts} rows are too many; take fewer points")
    places, weights = np.polynomial.legendre.leggauss(points)
    ones = np.array(list(itertools.product((places + 1) / 2, repeat=contexts)))
    heavy = np.array(list(itertools.product(weights / 2, repeat=contexts))).prod(axis=1)
    kernels = np.stack([1 - ones, ones], axis=-1).reshape(-1, *(2,) * order, 2)
    return Nodes(jnp.asarray(kernels), jnp.asarray(heavy))


@gated
def bayes_under_token_noise(tokens: Tokens, noise: TokenNoise, nodes: Nodes) -> Float[Array, "length symbols"]:
    """The Bayes predictor for an unknown kernel: filters of all nodes, weighted by prior and evidence.

    >>> nodes = uniform_nodes(1, 3)
    >>> round(float(bayes_under_token_noise([0, 1, 0, 1], TokenNoise(0.0), nodes)[-1, 0]), 4)  # add-one: 2 of 3
    0.6667
    """
    predicted, evidence = jax.vmap(lambda kernel: filtered(tokens, kernel, noise))(nodes.kernels)
    weight = jax.nn.softmax(evidence + jnp.log(nodes.weights)[:, None], axis=0)
    return (weight[:, :, None] * predicted).sum(axis=0)
