"""The earlier positions that an ideal induction head of order k attends to, as matrices of zeros and ones.

Row n looks at the keys i ≤ n. The counts of every in-context estimator are one of these matrices times the
one-hot tokens, and the pseudo-attention map is the matrix with its rows divided by their sums.
"""

from __future__ import annotations

from functools import partial

import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, Int

from anyorder.errors import require
from anyorder.io.gates import gated
from anyorder.io.tokens import LARGEST_ALPHABET, Tokens, as_tokens


def shifted(matrix: Array, rows: int, columns: int) -> Array:
    """The matrix shifted down and right, padded with zeros: result[n, i] = matrix[n - rows, i - columns].

    >>> shifted(jnp.eye(3, dtype=bool), 0, 1).astype(int).tolist()
    [[0, 1, 0], [0, 0, 1], [0, 0, 0]]
    """
    height, width = matrix.shape
    return jnp.pad(matrix, ((rows, 0), (columns, 0)))[:height, :width]


def causal(length: int) -> Bool[Array, "length length"]:
    """True where key i is not after query n."""
    return jnp.tri(length, dtype=bool)


@partial(jax.jit, static_argnames="order")
def window_matches(tokens: Int[Array, "length"], order: int) -> Bool[Array, "length length"]:
    """True at (n, i) where the k tokens before i equal the last k tokens up to n: Definition 2, k ≤ i ≤ n.

    That is x_{i-j} = x_{n-j+1} for j = 1 … k, the index set of the paper's App. A with its erratum corrected
    (k comparisons, not k + 1). Order zero matches everything.

    >>> window_matches(jnp.array([0, 1, 0, 1, 0]), 1)[-1].astype(int).tolist()
    [0, 1, 0, 1, 0]
    """
    length = len(tokens)
    equal = tokens[:, None] == tokens[None, :]
    matches = jnp.ones((length, length), dtype=bool)
    for offset in range(order):
        # x_{n - offset} = x_{i - 1 - offset}: the comparison of all pairs, shifted along both axes
        matches &= shifted(equal, offset, offset + 1)
    return matches & causal(length)


@partial(jax.jit, static_argnames=("order", "alphabet_size"))
def bag_matches(tokens: Int[Array, "length"], order: int, alphabet_size: int) -> Bool[Array, "length length"]:
    """Like `window_matches`, with the k tokens compared as multisets, as uniform weights 1/k do.

    >>> bag_matches(jnp.array([0, 1, 1, 0, 1]), 2, 2)[-1].astype(int).tolist()
    [0, 0, 1, 0, 1]
    """
    one_hot = tokens[:, None] == jnp.arange(alphabet_size, dtype=tokens.dtype)
    totals = jnp.cumsum(one_hot, axis=0, dtype=jnp.int32)
    bags = totals - jnp.pad(totals, ((order, 0), (0, 0)))[: len(tokens)]  # of the k tokens up to n
    equal = jnp.ones((len(tokens), len(tokens)), dtype=bool)
    for symbol in range(alphabet_size):
        equal &= bags[:, symbol, None] == bags[None, :, symbol]
    full = jnp.arange(len(tokens), dtype=jnp.int32) >= order  # keys with a full window: later queries have one too
    return shifted(equal, 0, 1) & causal(len(tokens)) & full


@partial(jax.jit, static_argnames="order")
def aligned_openings(tokens: Int[Array, "length"], order: int) -> Bool[Array, "length length"]:
    """True at (n, i), i < k, where the code of the partial window before i is parallel to that of the full one at n.

    With weights b^j on the tokens of a window, two windows have proportional codes exactly when the two
    words, each repeated forever, are equal: their codes divided by b^length - 1 are the values of
    these repeating expansions in base b. Position 0 sees only itself, so its word is x_0. This is the
    bias of constructions that normalise queries and keys (App. A.2.2 and B.2).

    >>> aligned_openings(jnp.array([0, 0, 0, 1]), 2).astype(int).tolist()
    [[0, 0, 0, 0], [1, 1, 0, 0], [1, 1, 0, 0], [0, 0, 0, 0]]
    """
    length = len(tokens)
    rows = []
    windows = jnp.stack([jnp.roll(tokens, order - 1 - place) for place in range(order)])  # oldest first
    for opening in range(min(order, length)):
        word = max(opening, 1)
        # Two periodic words that agree on the sum of their periods are equal (Fine and Wilf).
        agree = [windows[place % order] == tokens[place % word] for place in range(order + word)]
        rows.append(jnp.all(jnp.stack(agree), axis=0))
    aligned = jnp.stack(rows, axis=1)
    aligned = jnp.pad(aligned, ((0, 0), (0, length - aligned.shape[1])))
    return aligned & causal(length) & (jnp.arange(length) >= order - 1)[:, None]


@partial(jax.jit, static_argnames="alphabet_size")
def counts(
    matches: Bool[Array, "length length"], tokens: Int[Array, "length"], alphabet_size: int
) -> Int[Array, "length symbols"]:
    """The number of occurrences of each symbol at the matching positions.

    >>> tokens = jnp.array([0, 1, 0, 1, 0])
    >>> counts(window_matches(tokens, 1), tokens, 2)[-1].tolist()
    [0, 2]
    """
    one_hot = (tokens[:, None] == jnp.arange(alphabet_size, dtype=tokens.dtype)).astype(jnp.float32)
    # Sums of ones are exact in float32 up to 2^24 positions, and floating-point products are fast.
    return (matches.astype(jnp.float32) @ one_hot).astype(jnp.int32)


@gated
def pseudo_attention(tokens: Tokens, order: int, *, alphabet: str | None = None) -> Float[Array, "length length"]:
    """The ideal attention map: row n is uniform over the matching positions, and zero where there are none.

    >>> pseudo_attention([0, 1, 0, 1, 0], 1)[-1].tolist()
    [0.0, 0.5, 0.0, 0.5, 0.0]
    """
    numbered = as_tokens(tokens, None, LARGEST_ALPHABET, alphabet=alphabet)
    require(0 <= order <= len(numbered), f"order is {order}, must be 0 to the length {len(numbered)}")
    return _pseudo_attention(numbered, order)


@partial(jax.jit, static_argnames="order")
def _pseudo_attention(tokens: Int[Array, "length"], order: int) -> Float[Array, "length length"]:
    matches = window_matches(tokens, order).astype(jnp.float64)
    return matches / jnp.maximum(matches.sum(axis=1, keepdims=True), 1)
