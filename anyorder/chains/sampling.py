"""Sampling of tokens one after the other: the opening, then a row of the kernel at every step."""

from __future__ import annotations

from typing import Literal

import jax
import jax.numpy as jnp
from jaxtyping import Array, Complex64, Float, Float32, Int, UInt

from anyorder.chains.lifted_chain import DENSE_STATES, successors
from anyorder.errors import require
from anyorder.io import numerics as numerics  # 64-bit numbers

Start = Literal["uniform", "stationary"]
#: Pasts that never occur have no next token; dividing by this keeps their rows, which are never read, finite.
TINY = 1e-30


def walk(
    openings: Float[Array, "count pasts symbols"],
    rows: Float[Array, "count contexts symbols"],
    order: int,
    pairs: Complex64[Array, "length half"],
    fresh: Float[Array, "count length symbols"] | None = None,
) -> tuple[Int[Array, "count length"], Int[Array, "count length"]]:
    """The tokens of every sequence and their distributions: rows of `openings` for the first k, then rows of `rows`.

    The state is the past as a number in base S, truncated to its last k digits. Pasts of t < k tokens have S^t rows in
    `openings`, after those of all shorter pasts. Element j of `pairs` contains the uniform numbers of the sequences 2j
    and 2j + 1.

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
    # One gather from one table for the whole batch: a gather per sequence compiles to slower code. The opening has its
    # own table: if the two were joined, the kernels would be drawn inside the copy, one number at a time.
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
    """The cumulative sums of every row without the last one, to be compared with a uniform number.

    The symbol is the number of sums at or below the uniform number. The last sum is not compared, so the last symbol
    takes the remaining probability and rows need not sum to exactly 1. The uniform numbers are multiples of 2^-24, so
    sums more precise than float32 would change nothing.

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
    joint = [contexts.reshape(size**past, size, -1).sum(axis=2) for past in range(order)]
    return jnp.concatenate([rows / jnp.maximum(rows.sum(axis=1, keepdims=True), TINY) for rows in joint])


def stationary_contexts(rows: Float[Array, "contexts symbols"]) -> Float[Array, "contexts"]:
    """The stationary distribution of contexts, for use inside a compiled program; it must be unique.

    >>> stationary_contexts(jnp.array([[0.5, 0.5], [1.0, 0.0]])).sum().round(6).item()
    1.0
    """
    contexts, size = rows.shape
    require(
        contexts <= DENSE_STATES,
        f"a stationary start over {contexts} contexts, the limit is {DENSE_STATES}; "
        "use a uniform start or a lower order",
    )
    matrix = jnp.zeros((contexts, contexts), rows.dtype)
    matrix = matrix.at[jnp.arange(contexts)[:, None], successors(contexts, size)].add(rows)
    # μ = μP and Σμ = 1 together: (I - Pᵀ + 11ᵀ) μ = 1.
    system = jnp.eye(contexts, dtype=rows.dtype) - matrix.T + 1
    return jnp.maximum(jnp.linalg.solve(system, jnp.ones(contexts, rows.dtype)), 0)
