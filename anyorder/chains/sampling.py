"""Sampling: one compiled call gives a batch of independent kernels and a sequence from each.

Everything here is a pure function of a key and can be called inside another compiled program.
"""

from __future__ import annotations

import math
from functools import partial
from typing import Any, Literal, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Int, PRNGKeyArray

from anyorder.chains.lifted import DENSE_STATES, successors
from anyorder.chains.noise import Noise, TokenNoise, TransitionNoise, observed, substitute
from anyorder.chains.priors import Prior, dirichlet_rows
from anyorder.errors import check_order, require

Start = Literal["uniform", "stationary"]


class Chains(NamedTuple):
    """A batch of chains: element i of each array belongs to kernel i.

    `truth[i, t]` is the distribution that `tokens[i, t]` was drawn from, given the clean past, so that the
    true loss is exact with and without noise. `clean` is the sequence before token noise.
    """

    kernels: Float[Array, "count *contexts symbols"]
    tokens: Int[Array, "count length"]
    clean: Int[Array, "count length"]
    truth: Float[Array, "count length symbols"]


def sample(
    key: PRNGKeyArray,
    prior: Prior,
    *,
    length: int,
    count: int,
    start: Start = "uniform",
    noise: Noise | None = None,
    dtype: Any = jnp.float64,
) -> Chains:
    """Draw `count` kernels from the prior and one sequence of `length` tokens from each.

    The first k tokens are uniform (the paper's choice) or come from the stationary distribution of contexts.

    >>> from anyorder.chains import Dirichlet
    >>> chains = sample(jax.random.key(0), Dirichlet(order=2, alphabet_size=3), length=8, count=5)
    >>> chains.kernels.shape, chains.tokens.shape, chains.truth.shape
    ((5, 3, 3, 3), (5, 8), (5, 8, 3))
    """
    check_order(prior.order, length)
    require(count >= 1, f"count is {count}, must be at least 1")
    require(start in ("uniform", "stationary"), f"start is {start!r}, must be 'uniform' or 'stationary'")
    return _sample(key, prior, noise, length, count, start, jnp.dtype(dtype))


@eqx.filter_jit
def _sample(
    key: PRNGKeyArray, prior: Prior, noise: Noise | None, length: int, count: int, start: Start, dtype: Any
) -> Chains:
    kernel_key, start_key, step_key, noise_key = jax.random.split(key, 4)
    kernels = jax.vmap(lambda key: prior.draw(key, dtype))(jax.random.split(kernel_key, count))
    tokens, clean, truth = jax.vmap(partial(_sequence, start=start, noise=noise))(
        kernels,
        uniforms(start_key, (count, prior.order)),
        uniforms(step_key, (count, length - prior.order)),
        jax.random.split(noise_key, count),
    )
    return Chains(kernels, tokens, clean, truth)


def uniforms(key: PRNGKeyArray, shape: tuple[int, ...]) -> Float[Array, "*shape"]:
    """Uniform float32 numbers in [0, 1), multiples of 2^-24.

    Threefry makes 64 bits at a time and `jax.random.uniform` keeps 32 of them; taking both halves is twice as fast.

    >>> uniforms(jax.random.key(0), (2, 3)).shape
    (2, 3)
    """
    total = math.prod(shape)
    pairs = jax.random.bits(key, ((total + 1) // 2,), jnp.uint64)
    halves = jax.lax.bitcast_convert_type(pairs, jnp.uint32).ravel()[:total]
    return ((halves >> 8).astype(jnp.float32) * jnp.float32(2**-24)).reshape(shape)


def _sequence(
    kernel: Float[Array, "*contexts symbols"],
    start_uniforms: Float[Array, "order"],
    step_uniforms: Float[Array, "steps"],
    noise_key: PRNGKeyArray,
    start: Start,
    noise: Noise | None,
) -> tuple[Int[Array, "length"], Int[Array, "length"], Float[Array, "length symbols"]]:
    """One sequence: as observed, clean, and the distribution each observed token was drawn from."""
    order, size, steps = kernel.ndim - 1, kernel.shape[-1], len(step_uniforms)
    rows = kernel.reshape(-1, size)
    opening = _opening(start_uniforms, rows, start)
    first = (opening * size ** jnp.arange(order - 1, -1, -1, dtype=jnp.int32)).sum(dtype=jnp.int32)

    if isinstance(noise, TransitionNoise):
        strength = jnp.asarray(noise.strength, rows.dtype)
        fresh = strength * dirichlet_rows(noise_key, (steps, size), 1.0, rows.dtype)
        rows = (1 - strength) * rows
    else:
        fresh = jnp.zeros((steps, size), rows.dtype)  # folded away by the compiler

    # Inverse of the distribution function: the symbol is the number of cumulative sums at or below the
    # uniform. The last sum is not compared, so the last symbol takes what is left and rows need no exact sum.
    sums = jnp.cumsum(rows[:, :-1], axis=1)
    fresh_sums = jnp.cumsum(fresh[:, :-1], axis=1)

    def step(context: Int[Array, ""], drawn: tuple[Array, Array]) -> tuple[Array, tuple[Array, Array]]:
        uniform, perturbation = drawn
        symbol = (uniform >= sums[context] + perturbation).sum(dtype=jnp.int32)
        return (context * size + symbol) % len(rows), (symbol, context)

    _, (drawn, contexts) = jax.lax.scan(step, first, (step_uniforms, fresh_sums))
    clean = jnp.concatenate([opening, drawn])
    followed = rows[contexts] + fresh
    truth = jnp.concatenate([jnp.full((order, size), 1 / size, rows.dtype), followed])
    if start == "stationary":
        truth = truth.at[:order].set(_opening_truth(rows, opening))
    if isinstance(noise, TokenNoise):
        return substitute(noise_key, clean, size, noise), clean, observed(truth, noise)
    return clean, clean, truth


def _opening(
    uniforms: Float[Array, "order"], rows: Float[Array, "contexts symbols"], start: Start
) -> Int[Array, "order"]:
    """The first k tokens."""
    size, order = rows.shape[1], len(uniforms)
    if start == "uniform":
        return (uniforms * size).astype(jnp.int32)
    context = (uniforms[0] >= jnp.cumsum(stationary_contexts(rows))[:-1]).sum(dtype=jnp.int32)
    return context // size ** jnp.arange(order - 1, -1, -1, dtype=jnp.int32) % size  # its digits, oldest first


def stationary_contexts(rows: Float[Array, "contexts symbols"]) -> Float[Array, "contexts"]:
    """The stationary distribution of contexts, for use inside a compiled program; it must be unique.

    >>> stationary_contexts(jnp.array([[0.5, 0.5], [1.0, 0.0]])).sum().round(6).item()
    1.0
    """
    contexts, size = rows.shape
    require(
        contexts <= DENSE_STATES,
        f"a stationary start needs the {contexts} contexts' distribution, the limit is {DENSE_STATES}; "
        "use a uniform start or a lower order",
    )
    matrix = jnp.zeros((contexts, contexts), rows.dtype)
    matrix = matrix.at[jnp.arange(contexts)[:, None], successors(contexts, size)].add(rows)
    # μ = μP and Σμ = 1 together: (I - Pᵀ + 11ᵀ) μ = 1.
    system = jnp.eye(contexts, dtype=rows.dtype) - matrix.T + 1
    return jnp.maximum(jnp.linalg.solve(system, jnp.ones(contexts, rows.dtype)), 0)


def _opening_truth(
    rows: Float[Array, "contexts symbols"], opening: Int[Array, "order"]
) -> Float[Array, "order symbols"]:
    """The distribution of each of the first k tokens given those before it, in the stationary chain."""
    size, order = rows.shape[1], len(opening)
    joint = stationary_contexts(rows).reshape((size,) * order)
    truths = []
    for position in range(order):
        marginal = joint.reshape(size, -1).sum(axis=1)
        truths.append(marginal / marginal.sum())
        joint = joint[opening[position]]
    return jnp.stack(truths)
