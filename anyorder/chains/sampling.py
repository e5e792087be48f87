"""Sampling: one compiled call gives a batch of independent kernels and a sequence from each.

Everything here is a pure function of a key and can be called inside another compiled program.
"""

from __future__ import annotations

from typing import Any, Literal, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Int, PRNGKeyArray

from anyorder.chains.lifted import DENSE_STATES, successors
from anyorder.chains.noise import Noise, TokenNoise, TransitionNoise, observed, substitute
from anyorder.chains.priors import Prior, dirichlet_rows
from anyorder.errors import require

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
    check_length(length, prior.order)
    require(count >= 1, f"count is {count}, must be at least 1")
    require(start in ("uniform", "stationary"), f"start is {start!r}, must be 'uniform' or 'stationary'")
    return _sample(key, prior, noise, length, count, start, jnp.dtype(dtype))


def check_length(length: int, order: int) -> None:
    """Refuse sequences that have no token with a full context.

    >>> check_length(3, 3)
    Traceback (most recent call last):
    anyorder.errors.InputError: order is 3, must be smaller than the length 3; lower the order or lengthen the sequence
    """
    require(order >= 1, f"order is {order}, must be at least 1; pass --order 1 or more")
    require(
        length > order,
        f"order is {order}, must be smaller than the length {length}; lower the order or lengthen the sequence",
    )


@eqx.filter_jit
def _sample(
    key: PRNGKeyArray, prior: Prior, noise: Noise | None, length: int, count: int, start: Start, dtype: Any
) -> Chains:
    kernel_key, sequence_key = jax.random.split(key)
    kernels = jax.vmap(lambda key: prior.draw(key, dtype))(jax.random.split(kernel_key, count))
    keys = jax.random.split(sequence_key, count)
    tokens, clean, truth = jax.vmap(lambda key, kernel: _sequence(key, kernel, length, start, noise))(
        keys, kernels
    )
    return Chains(kernels, tokens, clean, truth)


def _sequence(
    key: PRNGKeyArray, kernel: Float[Array, "*contexts symbols"], length: int, start: Start, noise: Noise | None
) -> tuple[Int[Array, "length"], Int[Array, "length"], Float[Array, "length symbols"]]:
    """One sequence: as observed, clean, and the distribution each observed token was drawn from."""
    order, size = kernel.ndim - 1, kernel.shape[-1]
    rows = kernel.reshape(-1, size)
    start_key, step_key, noise_key = jax.random.split(key, 3)
    first = _first_context(start_key, rows, start)
    steps = length - order
    uniforms = jax.random.uniform(step_key, (steps,), jnp.float32)
    # Context digits, oldest first: the first k tokens of the sequence.
    opening = first // size ** jnp.arange(order - 1, -1, -1, dtype=jnp.int32) % size

    if isinstance(noise, TransitionNoise):
        strength = jnp.asarray(noise.strength, rows.dtype)
        fresh = dirichlet_rows(noise_key, (steps, size), 1.0, rows.dtype)
        row_of = lambda context, random: (1 - strength) * rows[context] + strength * random  # noqa: E731
    else:
        fresh = None
        row_of = lambda context, _: rows[context]  # noqa: E731

    def step(context: Int[Array, ""], drawn: tuple[Array, Array | None]) -> tuple[Array, tuple[Array, Array]]:
        uniform, random = drawn
        row = row_of(context, random)
        # Inverse of the distribution function; the last symbol takes what is left, so rows need no exact sum.
        symbol = (uniform >= jnp.cumsum(row[:-1])).sum(dtype=jnp.int32)
        return (context * size + symbol) % len(rows), (symbol, context)

    _, (drawn, contexts) = jax.lax.scan(step, first, (uniforms, fresh), unroll=4)
    clean = jnp.concatenate([opening, drawn])
    followed = jax.vmap(row_of)(contexts, fresh) if fresh is not None else rows[contexts]
    truth = jnp.concatenate([jnp.full((order, size), 1 / size, rows.dtype), followed])
    if start == "stationary":
        truth = truth.at[:order].set(_opening_truth(rows, opening))
    if isinstance(noise, TokenNoise):
        return substitute(noise_key, clean, size, noise), clean, observed(truth, noise)
    return clean, clean, truth


def _first_context(key: PRNGKeyArray, rows: Float[Array, "contexts symbols"], start: Start) -> Int[Array, ""]:
    if start == "uniform":
        return jax.random.randint(key, (), 0, len(rows), jnp.int32)
    logits = jnp.log(stationary_contexts(rows))
    return jax.random.categorical(key, logits).astype(jnp.int32)


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
