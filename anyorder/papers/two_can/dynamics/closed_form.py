"""The gradient of stage one in closed form: g_{i,j} exactly from a kernel, and the descent direction it gives.

At a_2 → 0 and for long stationary sequences (App. C.2, App. D.2) every query context (s_1 … s_k) pulls p_j with

    g_j = Σ_l Σ_{s', s_1 … s_k} π(s' | s_1 … s_k) / μ(s') · (P(x_i = s', x_{i-j} = s_l) - μ(s_l) μ(s'))

which does not depend on the row i. Everything derived from it costs O(length) by sums over rows.
"""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Scalar

from anyorder.chains import Prior
from anyorder.chains.random import Seed, as_key
from anyorder.chains.sampling import stationary_contexts
from anyorder.errors import require
from anyorder.io.gates import check_memory, gated

#: A number for every offset: p, dL/dp or g.
Offsets = Float[Array, "offsets"]


@gated
def pair_distribution(kernel: Float[Array, "*contexts symbols"], lags: int) -> Float[Array, "{lags} symbols symbols"]:
    """P(x_{i-j} = s, x_i = s') of the stationary chain at [j, s, s'], for j = 0 … lags - 1.

    >>> pair_distribution(jnp.array([[0.75, 0.25], [0.25, 0.75]]), 2).round(9).tolist()
    [[[0.5, 0.0], [0.0, 0.5]], [[0.375, 0.125], [0.125, 0.375]]]
    """
    size = kernel.shape[-1]
    require(kernel.ndim >= 2, f"the kernel has shape {kernel.shape}, must be (S,)*k + (S,) with k >= 1")
    require(lags >= 1, f"lags is {lags}, must be at least 1")
    check_memory(32 * lags * size**2, f"{lags} lags", "pass a smaller `lags=`")
    rows = kernel.reshape(-1, size)
    newest = jnp.arange(len(rows), dtype=jnp.int32) % size
    # state[s, a] = P(the token j steps ago was s, the context now is a)
    state = jnp.where(newest == jnp.arange(size, dtype=jnp.int32)[:, None], stationary_contexts(rows), 0)
    split = rows.reshape(size, -1, size)  # oldest token, the rest of the context, next symbol

    def step(state: Float[Array, "symbols contexts"], _: None) -> tuple[Array, Float[Array, "symbols symbols"]]:
        shifted = jnp.einsum("sor,orn->srn", state.reshape(size, size, -1), split)
        return shifted.reshape(state.shape), state.reshape(size, -1, size).sum(axis=1)

    return jax.lax.scan(step, state, None, length=lags)[1]


@gated
def lag_scores(kernel: Float[Array, "*contexts symbols"], lags: int) -> Float[Array, "{lags}"]:
    """g_0 … g_{lags - 1} of one kernel: Σ_l g_{i,j,l} of App. D, for order one g_{i,j}(π) of App. C.

    The limit for long lags is zero, where x_i and x_{i-j} are independent.

    >>> lag_scores(jnp.array([[0.75, 0.25], [0.25, 0.75]]), 3).round(9).tolist()
    [0.5, 0.25, 0.125]
    """
    order, size = kernel.ndim - 1, kernel.shape[-1]
    pairs = pair_distribution(kernel, lags)
    symbols = pairs[0].sum(axis=0)  # μ
    contrast = (pairs - symbols[:, None] * symbols[None, :]) / symbols  # [j, s, s'], over μ(s')
    # towards[s, s'] = Σ_l Σ_{contexts with s_l = s} π(s' | context)
    towards = sum(jnp.moveaxis(kernel, place, 0).reshape(size, -1, size).sum(axis=1) for place in range(order))
    return jnp.einsum("jst,st->j", contrast, towards)


@gated
def lag_scores_of(prior: Prior, key: Seed, *, lags: int, count: int = 4096) -> Float[np.ndarray, "count lags"]:
    """g_j(π) of `count` kernels of a prior; each kernel's own value is exact, the mean over them is E_π[g_j(π)].

    >>> from anyorder.chains import Floored
    >>> scores = lag_scores_of(Floored(1, 3), jax.random.key(0), lags=4, count=64)
    >>> int(scores.mean(axis=0).argmax())
    1
    """
    require(count >= 2, f"count is {count}, must be at least 2 for a standard error")
    require(lags >= 2, f"lags is {lags}, must be at least 2: lag 0 and lag 1")
    numbers = count * (lags * prior.alphabet_size**2 + prior.alphabet_size ** (prior.order + 1))
    check_memory(32 * numbers, f"{lags} lags of {count} kernels", "pass a smaller `count=` or `lags=`")
    scores = jax.jit(jax.vmap(lambda key: lag_scores(prior.draw(key), lags)))
    return np.asarray(scores(jax.random.split(as_key(key), count)))


@gated
def stage_one_gradient(p: Offsets, scores: Offsets, a_2: float | Scalar, contexts: int, order: int) -> Offsets:
    """dL/dp_m at a_2 → 0: minus a_2 / (S^k·k·N) · Σ_{i ≥ m} att_{i,m} (g_m - Σ_{j ≤ i} att_{i,j} g_j).

    N is the number of positions, `contexts` is S^k, att_i is the softmax of p_0 … p_i. Entries of p may be -inf.

    >>> stage_one_gradient(jnp.zeros(2), jnp.array([0.0, 1.0]), 1.0, contexts=2, order=1).tolist()
    [0.0625, -0.0625]
    """
    weights = jnp.exp(p - p.max())
    totals = jnp.cumsum(weights)
    empty = totals == 0  # row 0 if p_0 = -inf: it has no attention and no pull
    inverse = jnp.where(empty, 0, 1 / jnp.where(empty, 1, totals))
    means = jnp.cumsum(weights * scores) * inverse  # Σ_j att_{i,j} g_j

    def from_row(values: Offsets) -> Offsets:
        return jnp.cumsum(values[::-1])[::-1]

    pull = weights * (scores * from_row(inverse) - from_row(means * inverse))
    return -a_2 / (contexts * order * len(p)) * pull
