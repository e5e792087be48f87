"""Bayes predictors for an unknown order: a mixture over orders, and over context trees (context-tree weighting).

All orders up to K, and all trees of depth up to K, are compared on the same data: they predict the tokens from
position K on, where each has its full context, and count only these as successors. Like the other estimators they
handle one sequence, at all positions at once, and work under `jit` and `vmap`.
"""

from __future__ import annotations

import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, Int

from anyorder.errors import require
from anyorder.estimators import matching
from anyorder.estimators.counting import Number, smoothed, where_full
from anyorder.estimators.result import WeightedEstimate, estimator
from anyorder.io.tokens import Tokens, with_size


@estimator
def mixture(
    tokens: Tokens,
    *,
    max_order: int,
    alphabet_size: int | None = None,
    min_order: int = 0,
    beta: Number = 1.0,
    alphabet: str | None = None,
) -> WeightedEstimate:
    """The Bayes predictor when the order is uniform on min_order … max_order and rows are Dirichlet(β).

    Each order predicts by add-β smoothing; its weight is proportional to the probability that it assigned to the tokens
    so far. `posterior` has a column for each order, from min_order on.

    >>> alternating = [0, 1] * 8
    >>> mixed = mixture(alternating, max_order=2, alphabet_size=2)
    >>> mixed.probabilities[-1].round(3).tolist(), mixed.posterior[-1].round(3).tolist()
    ([0.889, 0.111], [0.001, 0.5, 0.5])
    """
    require(0 <= min_order <= max_order, f"min_order is {min_order}, must be 0 to max_order, {max_order}")
    tokens, alphabet_size = with_size(tokens, None, alphabet_size, alphabet)
    _check(tokens, max_order, "max_order")
    orders = range(min_order, max_order + 1)
    rows = [of_order(tokens, order, max_order, alphabet_size, beta)[1] for order in orders]
    evidence = jnp.stack([jnp.cumsum(coded(row, tokens, max_order)) for row in rows], axis=1)
    posterior = jax.nn.softmax(evidence, axis=1)
    return _where_full(jnp.einsum("nk,kns->ns", posterior, jnp.stack(rows)), posterior, max_order)


@estimator
def ctw(
    tokens: Tokens, *, depth: int, alphabet_size: int | None = None, beta: Number = 0.5, alphabet: str | None = None
) -> WeightedEstimate:
    """Context-tree weighting: the Bayes predictor for a random context tree of at most this depth.

    Under the prior every node above the full depth is a leaf with probability ½ and otherwise has a child for each
    symbol; each leaf has a Dirichlet(β) row. β = ½ is the Krichevsky-Trofimov estimator. Column d of
    `posterior` is the probability that the leaf of the current context has depth d.

    >>> alternating = [0, 1] * 8
    >>> tree = ctw(alternating, depth=2, alphabet_size=2)
    >>> tree.probabilities[-1].round(3).tolist(), tree.posterior[-1].round(3).tolist()
    ([0.937, 0.063], [0.0, 0.5, 0.5])
    """
    tokens, alphabet_size = with_size(tokens, None, alphabet_size, alphabet)
    _check(tokens, depth, "depth")
    # A node mixes two predictors: its own row, and its child on the path of the context. The odds of the first against
    # the second are the ratio of their probabilities of the tokens at the node's matching positions.
    _, below = of_order(tokens, depth, depth, alphabet_size, beta)
    reached = [jnp.ones(len(tokens), jnp.float64)]
    for order in reversed(range(depth)):
        matches, own = of_order(tokens, order, depth, alphabet_size, beta)
        log_odds = matches.astype(jnp.float64) @ (coded(own, tokens, depth) - coded(below, tokens, depth))
        leaf = jax.nn.sigmoid(log_odds)
        below = leaf[:, None] * own + jax.nn.sigmoid(-log_odds)[:, None] * below
        reached = [leaf, *(jax.nn.sigmoid(-log_odds) * deeper for deeper in reached)]
    return _where_full(below, jnp.stack(reached, axis=1), depth)


def _check(tokens: Int[Array, "length"], longest: int, name: str) -> None:
    require(
        0 <= longest < len(tokens),
        f"{name} is {longest}, must be 0 or more and smaller than the length {len(tokens)}; lower it or lengthen the "
        "sequence",
    )


def of_order(
    tokens: Int[Array, "length"], order: int, first: int, alphabet_size: int, beta: Number
) -> tuple[Bool[Array, "length length"], Float[Array, "length symbols"]]:
    """The matches of earlier windows of this order, and add-β smoothing of their successors, from position `first` on.

    >>> matches, rows = of_order(jnp.array([0, 1, 0, 1, 0]), 1, 2, 2, 1.0)
    >>> matches[-1].astype(int).tolist(), rows[-1].round(3).tolist()
    ([0, 0, 0, 1, 0], [0.333, 0.667])
    """
    matches = matching.window_matches(tokens, order) & (jnp.arange(len(tokens)) >= first)
    return matches, smoothed(matching.counts(matches, tokens, alphabet_size), beta)


def coded(rows: Float[Array, "length symbols"], tokens: Int[Array, "length"], first: int) -> Float[Array, "length"]:
    """The log-probability of token i under row i - 1, for coded tokens; 0 for the others.

    >>> jnp.exp(coded(jnp.asarray([[0.5, 0.5], [0.25, 0.75]]), jnp.asarray([0, 1]), 1)).tolist()
    [1.0, 0.5]
    """
    assigned = jnp.take_along_axis(rows[:-1], tokens[1:, None], axis=1)[:, 0]
    return jnp.where(jnp.arange(len(tokens)) >= max(first, 1), jnp.log(jnp.pad(assigned, (1, 0), constant_values=1)), 0)


def _where_full(
    rows: Float[Array, "length symbols"], posterior: Float[Array, "length orders"], order: int
) -> WeightedEstimate:
    rows, defined = where_full(rows, order)
    return WeightedEstimate(rows, defined, jnp.where(defined[:, None], posterior, jnp.nan))
