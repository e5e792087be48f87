"""In-context estimators: the distribution of the next token given the tokens so far, at all positions at once.

Each handles one sequence; use `jax.vmap` for a batch, inside `jax.jit` for one compiled call. A token outside the
alphabet is rejected or, inside such a call, makes every row from there on NaN (with `ctw` all rows). Row n of the
result is the prediction of x_{n+1} from x_0 … x_n. A string needs `alphabet=`, its characters in order, instead of
`alphabet_size=`.
"""

from __future__ import annotations

from functools import partial

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Int

from anyorder.estimators import matching
from anyorder.estimators.result import Estimate, estimator
from anyorder.io.tokens import Tokens, with_size

#: A number, of Python or inside a compiled program.
Number = float | int | Array


@jax.jit
def _normalised(counts: Int[Array, "length symbols"]) -> Estimate:
    """Relative frequencies, undefined where all counts are zero (Definition 2 leaves 0/0 open)."""
    totals = counts.sum(axis=1, keepdims=True)
    frequencies = counts.astype(jnp.float64) / totals.astype(jnp.float64)
    return Estimate(jnp.where(totals > 0, frequencies, jnp.nan), totals[:, 0] > 0)


@jax.jit
def smoothed(counts: Int[Array, "length symbols"], beta: Number) -> Float[Array, "length symbols"]:
    """Add-β smoothing of counts: β is added to each, and every row divided by its sum.

    >>> smoothed(jnp.array([[2, 0]]), 1.0).tolist()
    [[0.75, 0.25]]
    """
    added = counts.astype(jnp.float64) + jnp.asarray(beta, jnp.float64)
    return added / added.sum(axis=1, keepdims=True)


@partial(jax.jit, static_argnames="order")
def where_full(probabilities: Float[Array, "length symbols"], order: int) -> Estimate:
    """The distributions, defined wherever the last k tokens exist: n ≥ k - 1.

    >>> where_full(jnp.full((4, 2), 0.5), order=3).defined.tolist()
    [False, False, True, True]
    """
    defined = jnp.arange(len(probabilities), dtype=jnp.int32) >= order - 1
    return Estimate(jnp.where(defined[:, None], probabilities, jnp.nan), defined)


@estimator
def kgram(tokens: Tokens, *, order: int, alphabet_size: int | None = None, alphabet: str | None = None) -> Estimate:
    """The conditional k-gram of Definition 2: frequencies of the tokens after earlier occurrences of the last k tokens.

    >>> probabilities, defined = kgram([0, 1, 0, 1, 1, 0], order=1, alphabet_size=2)
    >>> defined.tolist(), probabilities[-1].tolist()
    ([False, False, True, True, True, True], [0.0, 1.0])
    >>> kgram("abacaba", order=1, alphabet="abc").probabilities[-1].tolist()  # after "a"
    [0.0, 0.6666666666666666, 0.3333333333333333]
    """
    tokens, alphabet_size = with_size(tokens, order, alphabet_size, alphabet)
    matches = matching.window_matches(tokens, order)
    return _normalised(matching.counts(matches, tokens, alphabet_size))


@estimator
def bayes(
    tokens: Tokens, *, order: int, alphabet_size: int | None = None, beta: Number = 1.0, alphabet: str | None = None
) -> Estimate:
    """Add-β smoothing of the k-gram counts: the Bayes predictor when rows are Dirichlet(β); β is 1 by default.

    Defined wherever the last k tokens exist, also for a context never seen (then uniform).

    >>> bayes([0, 1, 0, 1, 1, 0], order=1, alphabet_size=2).probabilities[-1].tolist()
    [0.25, 0.75]
    """
    tokens, alphabet_size = with_size(tokens, order, alphabet_size, alphabet)
    counts = matching.counts(matching.window_matches(tokens, order), tokens, alphabet_size)
    return where_full(smoothed(counts, beta), order)


#: The same function, for a β that is not the parameter of the rows.
add_beta = bayes


@estimator
def bag(tokens: Tokens, *, order: int, alphabet_size: int | None = None, alphabet: str | None = None) -> Estimate:
    """Frequencies after earlier occurrences of the last k tokens in any order: the limit of uniform weights 1/k.

    >>> bag([0, 1, 1, 0], order=2, alphabet_size=2).probabilities[-1].tolist()
    [0.0, 1.0]
    """
    tokens, alphabet_size = with_size(tokens, order, alphabet_size, alphabet)
    matches = matching.bag_matches(tokens, order, alphabet_size)
    return _normalised(matching.counts(matches, tokens, alphabet_size))


@estimator
def add_beta_bag(
    tokens: Tokens, *, order: int, alphabet_size: int | None = None, beta: Number = 1.0, alphabet: str | None = None
) -> Estimate:
    """Add-β smoothing of the counts of `bag`: the Bayes predictor when every bag has a Dirichlet(β) row.

    >>> add_beta_bag([0, 1, 1, 0], order=2, alphabet_size=2).probabilities[-1].round(3).tolist()
    [0.333, 0.667]
    """
    tokens, alphabet_size = with_size(tokens, order, alphabet_size, alphabet)
    counts = matching.counts(matching.bag_matches(tokens, order, alphabet_size), tokens, alphabet_size)
    return where_full(smoothed(counts, beta), order)


@estimator
def add_beta_difference(tokens: Tokens, *, order: int, alphabet_size: int, beta: Number = 1.0) -> Estimate:
    """Add-β smoothing of x_{n+1} - x_{n-k+1} modulo S after the k - 1 tokens between the two.

    The Bayes predictor when each matrix from the token k steps before to the next one is circulant with a Dirichlet(β)
    row; for two symbols those are all doubly stochastic matrices.

    >>> add_beta_difference([0, 1, 0, 0], order=1, alphabet_size=2).probabilities[-1].round(3).tolist()
    [0.4, 0.6]
    """
    tokens, size = with_size(tokens, order, alphabet_size, None)
    places = jnp.arange(len(tokens), dtype=jnp.int32)
    matches = matching.window_matches(tokens, order - 1) & (places >= order)
    rows = smoothed(matching.counts(matches, (tokens - jnp.roll(tokens, order)) % size, size), beta)
    differences = (jnp.arange(size, dtype=jnp.int32) - jnp.roll(tokens, order - 1)[:, None]) % size
    return where_full(jnp.take_along_axis(rows, differences, axis=1), order)


@estimator
def biased(tokens: Tokens, *, order: int, alphabet_size: int | None = None, alphabet: str | None = None) -> Estimate:
    """The k-gram that also counts opening positions whose partial window is aligned (App. A.2.2, B.2).

    >>> biased([0, 0, 0, 1, 0, 0], order=2, alphabet_size=2).probabilities[-1].tolist()
    [0.75, 0.25]
    """
    tokens, alphabet_size = with_size(tokens, order, alphabet_size, alphabet)
    matches = matching.window_matches(tokens, order) | matching.aligned_openings(tokens, order)
    return _normalised(matching.counts(matches, tokens, alphabet_size))


@estimator
def backoff(tokens: Tokens, *, order: int, alphabet_size: int | None = None, alphabet: str | None = None) -> Estimate:
    """The j-gram of the longest suffix, j ≤ k, that has been seen before; j = 0 is the frequency of symbols.

    >>> backoff([0, 1, 2, 0, 2], order=2, alphabet_size=3).probabilities[-1].tolist()
    [1.0, 0.0, 0.0]
    """
    tokens, alphabet_size = with_size(tokens, order, alphabet_size, alphabet)
    return _normalised(_after_longest_suffix(tokens, order, alphabet_size))


@partial(jax.jit, static_argnames=("order", "alphabet_size"))
def _after_longest_suffix(tokens: Int[Array, "length"], order: int, alphabet_size: int) -> Int[Array, "length symbols"]:
    """Successor counts of the longest suffix of at most k tokens that has been seen before."""
    shorter = [matching.window_matches(tokens, suffix) for suffix in range(order + 1)]
    counted = jnp.stack([matching.counts(matches, tokens, alphabet_size) for matches in shorter])
    seen = counted.sum(axis=2) > 0
    longest = order - jnp.argmax(seen[::-1], axis=0)
    return counted[longest, jnp.arange(len(tokens), dtype=jnp.int32)]
