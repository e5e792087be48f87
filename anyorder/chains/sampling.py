"""Sampling: one compiled call gives a batch of independent kernels and a sequence from each.

Everything here is a pure function of a key and can be called inside another compiled program.
"""

from __future__ import annotations

from functools import partial
from typing import Any, Literal, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Int, PRNGKeyArray, UInt

from anyorder.chains.lifted import DENSE_STATES, successors
from anyorder.chains.noise import Noise, TokenNoise, TransitionNoise, observed, substitute
from anyorder.chains.priors import Prior, dirichlet_rows
from anyorder.chains.random import uniforms
from anyorder.errors import check_order, require

Start = Literal["uniform", "stationary"]
#: Pasts that never occur have no next token; dividing by this keeps their rows, which nobody reads, finite.
TINY = 1e-30


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
    kernel_key, step_key, noise_key = jax.random.split(key, 3)
    order, size = prior.order, prior.alphabet_size
    kernels = jax.vmap(lambda key: prior.draw(key, dtype))(jax.random.split(kernel_key, count))
    rows = kernels.reshape(count, -1, size)
    openings = jax.vmap(partial(opening_rows, order=order, start=start))(rows)
    noise_keys = jax.random.split(noise_key, count)
    fresh = None
    if isinstance(noise, TransitionNoise):
        strength = jnp.asarray(noise.strength, dtype)
        fresh = strength * jax.vmap(lambda key: dirichlet_rows(key, (length, size), 1.0, dtype))(noise_keys)
        fresh = fresh.at[:, :order].set(0)
        rows = (1 - strength) * rows
    rows = jnp.concatenate([openings, rows], axis=1)
    clean, states = walk(rows, order, uniforms(step_key, (length, count)), fresh)
    truth = jax.vmap(lambda rows, states: rows[states])(rows, states)
    if fresh is not None:
        truth = truth + fresh
    if isinstance(noise, TokenNoise):
        tokens = jax.vmap(lambda key, row: substitute(key, row, size, noise))(noise_keys, clean)
        return Chains(kernels, tokens, clean, observed(truth, noise))
    return Chains(kernels, clean, clean, truth)


def walk(
    rows: Float[Array, "count states symbols"],
    order: int,
    uniforms: Float[Array, "length count"],
    fresh: Float[Array, "count length symbols"] | None = None,
) -> tuple[Int[Array, "count length"], Int[Array, "count length"]]:
    """The tokens of every sequence, and the states that they were drawn in.

    The states are the nodes of a tree: the root is the empty past, node v has the children S·v + 1 + s for the
    symbols s, and level t holds the S^t pasts of t tokens. The last level, k, holds the contexts; from there the
    oldest token is dropped. So the first k tokens are drawn like all others, each from the row of its state.

    >>> rows = jnp.array([[[0.5, 0.5], [0.0, 1.0], [1.0, 0.0]]])  # order 1: the opening, then 0 → 1 → 0 → …
    >>> [part.tolist() for part in walk(rows, 1, jnp.full((4, 1), 0.7, jnp.float32))]
    [[[1, 0, 1, 0]], [[0, 2, 1, 2]]]
    """
    count, states, size = rows.shape
    contexts = size**order
    level_k, level_after = states - contexts, states  # the first node of level k, and of the level below it
    # Inverse of the distribution function: the symbol is the number of cumulative sums at or below the
    # uniform. The last sum is not compared, so the last symbol takes what is left and rows need no exact sum.
    # The uniforms are multiples of 2^-24: sums that are finer than float32 would change nothing.
    sums = jnp.cumsum(rows[..., :-1], axis=-1).astype(jnp.float32).reshape(-1, size - 1)
    index = jnp.uint32 if count * states < 2**32 else jnp.uint64  # unsigned: an index below zero would need a test
    own_rows = jnp.arange(count, dtype=index) * states
    perturbations = None if fresh is None else jnp.cumsum(fresh[..., :-1], axis=-1).astype(jnp.float32).swapaxes(0, 1)
    narrow = jnp.int8 if size <= 128 else jnp.int32  # the transpose at the end is bound by memory

    # One gather from one table for the whole batch: a gather per sequence compiles to slower code.
    def step(
        state: UInt[Array, "count"], drawn: tuple[Float[Array, "count"], Float[Array, "count bounds"] | None]
    ) -> tuple[Array, tuple[Array, Array]]:
        uniform, perturbation = drawn
        bounds = sums[own_rows + state]
        if perturbation is not None:
            bounds = bounds + perturbation
        symbol = (uniform[:, None] >= bounds).sum(axis=1, dtype=index)
        child = size * state + 1 + symbol
        return jnp.where(child < level_after, child, level_k + (child - level_after) % contexts), (
            symbol.astype(narrow),
            state,
        )

    _, (tokens, visited) = jax.lax.scan(step, jnp.zeros(count, index), (uniforms, perturbations))
    return tokens.T.astype(jnp.int32), visited.T.astype(jnp.int32)


def opening_rows(rows: Float[Array, "contexts symbols"], *, order: int, start: Start) -> Float[Array, "pasts symbols"]:
    """The distribution of the next token after each past of fewer than k tokens, the empty one first.

    >>> opening_rows(jnp.array([[0.5, 0.5], [1.0, 0.0]]), order=1, start="stationary").round(3).tolist()
    [[0.667, 0.333]]
    """
    size = rows.shape[1]
    if start == "uniform":
        return jnp.full(((size**order - 1) // (size - 1), size), 1 / size, rows.dtype)
    contexts = stationary_contexts(rows)
    joint = [contexts.reshape(size**level, size, -1).sum(axis=2) for level in range(order)]
    return jnp.concatenate([level / jnp.maximum(level.sum(axis=1, keepdims=True), TINY) for level in joint])


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
