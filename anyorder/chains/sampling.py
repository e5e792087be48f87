"""Sampling: one compiled call gives a batch of independent kernels and a sequence from each.

Everything here is a pure function of a key and can be called inside another compiled program.
"""

from __future__ import annotations

from functools import partial
from typing import Any, Literal, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Complex64, Float, Float32, Int, PRNGKeyArray, UInt

from anyorder.chains.lifted import DENSE_STATES, successors
from anyorder.chains.noise import Noise, TokenNoise, TransitionNoise, observed, substitute
from anyorder.chains.priors import Prior, dirichlet_rows
from anyorder.chains.random import split, uniform_pairs
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
    per_kernel: int = 1,
) -> Chains:
    """Draw `count` sequences of `length` tokens, `per_kernel` in a row from each kernel that the prior gives.

    The first k tokens are uniform (the paper's choice) or come from the stationary distribution of contexts.

    >>> from anyorder.chains import Dirichlet
    >>> chains = sample(jax.random.key(0), Dirichlet(order=2, alphabet_size=3), length=8, count=5)
    >>> chains.kernels.shape, chains.tokens.shape, chains.truth.shape
    ((5, 3, 3, 3), (5, 8), (5, 8, 3))
    """
    check_order(prior.order, length)
    require(count >= 1, f"count is {count}, must be at least 1")
    require(start in ("uniform", "stationary"), f"start is {start!r}, must be 'uniform' or 'stationary'")
    require(
        per_kernel >= 1 and count % per_kernel == 0,
        f"{per_kernel} sequences of each kernel do not divide the {count} sequences",
    )
    return _sample(key, prior, noise, length, count, start, jnp.dtype(dtype), per_kernel)


@eqx.filter_jit
def _sample(
    key: PRNGKeyArray,
    prior: Prior,
    noise: Noise | None,
    length: int,
    count: int,
    start: Start,
    dtype: Any,
    per_kernel: int,
) -> Chains:
    kernel_key, step_key, noise_key = jax.random.split(key, 3)
    order, size = prior.order, prior.alphabet_size
    kernels = jax.vmap(lambda key: prior.draw(key, dtype))(split(kernel_key, count // per_kernel))
    kernels = kernels if per_kernel == 1 else jnp.repeat(kernels, per_kernel, axis=0)
    rows = kernels.reshape(count, -1, size)
    openings = jax.vmap(partial(opening_rows, order=order, start=start))(rows)
    noise_keys = jax.random.split(noise_key, count)
    fresh = None
    if isinstance(noise, TransitionNoise):
        strength = jnp.asarray(noise.strength, dtype)
        fresh = strength * jax.vmap(lambda key: dirichlet_rows(key, (length, size), 1.0, dtype))(noise_keys)
        fresh = fresh.at[:, :order].set(0)
        rows = (1 - strength) * rows
    clean, drawn_from = walk(openings, rows, order, uniform_pairs(step_key, (length, (count + 1) // 2)), fresh)
    look_up = jax.vmap(lambda rows, indices: rows[indices])
    parts = [look_up(openings, drawn_from[:, :order]), look_up(rows, drawn_from[:, order:])]
    truth = jnp.concatenate(parts, axis=1)
    if fresh is not None:
        truth = truth + fresh
    if isinstance(noise, TokenNoise):
        tokens = jax.vmap(lambda key, row: substitute(key, row, size, noise))(noise_keys, clean)
        return Chains(kernels, tokens, clean, observed(truth, noise))
    return Chains(kernels, clean, clean, truth)


def walk(
    openings: Float[Array, "count pasts symbols"],
    rows: Float[Array, "count contexts symbols"],
    order: int,
    pairs: Complex64[Array, "length half"],
    fresh: Float[Array, "count length symbols"] | None = None,
) -> tuple[Int[Array, "count length"], Int[Array, "count length"]]:
    """The tokens of every sequence, and the rows that they were drawn from: of `openings` first, of `rows` from k on.

    The state is the past read as a number in base S, of which the last k digits are kept. Pasts of t < k tokens have
    the S^t rows of `openings` that follow those of all shorter ones. Element j of `pairs` holds the uniform numbers of
    the sequences 2j and 2j + 1.

    >>> openings, rows = jnp.array([[[0.5, 0.5]]]), jnp.array([[[0.0, 1.0], [1.0, 0.0]]])  # order 1: 0 → 1 → 0 → …
    >>> [part.tolist() for part in walk(openings, rows, 1, jnp.full((4, 1), 0.7 + 0j, jnp.complex64))]
    [[[1, 0, 1, 0]], [[0, 1, 0, 1]]]
    """
    count, contexts, size = rows.shape
    pasts = openings.shape[1]
    index = jnp.uint32 if rows.size < 2**32 else jnp.uint64  # unsigned: an index below zero would need a test
    sequence = jnp.arange(count, dtype=index)
    shorter = jnp.array([sum(size**s for s in range(t)) for t in range(order)], index)
    perturbations = None if fresh is None else cumulative(fresh).swapaxes(0, 1)
    narrow = jnp.int8 if size <= 128 else jnp.int32  # the transpose at the end is bound by memory
    # One gather from one table for the whole batch: a gather per sequence compiles to slower code. The opening has a
    # table of its own: joining the two would draw the kernels inside the copy, one number at a time.
    opening_table, table = (cumulative(part).reshape(-1, size - 1) for part in (openings, rows))

    def step(
        state: UInt[Array, "count"],
        now: tuple[UInt[Array, ""], Complex64[Array, "half"], Float[Array, "count bounds"] | None],
    ) -> tuple[Array, tuple[Array, Array]]:
        time, pair, perturbation = now
        bounds = jax.lax.cond(
            time < order,
            lambda: opening_table[sequence * pasts + shorter[time] + state],
            lambda: table[sequence * contexts + state],
        )
        if perturbation is not None:
            bounds = bounds + perturbation
        both = jnp.repeat(pair, 2)[:count]
        uniform = jnp.where(sequence % 2 == 0, both.real, both.imag)
        symbol = (uniform[:, None] >= bounds).sum(axis=1, dtype=index)
        return (size * state + symbol) % contexts, (symbol.astype(narrow), state)

    times = jnp.arange(pairs.shape[0], dtype=index)
    _, (tokens, states) = jax.lax.scan(step, jnp.zeros(count, index), (times, pairs, perturbations))
    rows_of = states.at[:order].add(shorter[:, None])
    return tokens.T.astype(jnp.int32), rows_of.T.astype(jnp.int32)


def cumulative(rows: Float[Array, "*rows symbols"]) -> Float32[Array, "*rows bounds"]:
    """The distribution function of every row but for its last value: what a uniform number is compared with.

    The symbol is the number of sums at or below the uniform number. The last sum is not compared, so the last symbol
    takes what is left and rows need no exact sum. The uniform numbers are multiples of 2^-24: sums that are finer than
    float32 would change nothing.

    >>> cumulative(jnp.array([0.25, 0.5, 0.25])).tolist()
    [0.25, 0.75]
    """
    return jnp.cumsum(rows[..., :-1], axis=-1).astype(jnp.float32)


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
