"""Layer 1 of a trained model: its weight at each offset, the base of its code, and the contexts it confuses.

Layer 1 mixes the embeddings of earlier tokens with weights that depend on the offset. The construction of App. B has
weights ∝ 3^i at offsets i = 1 … k: every context has a distinct code. A learned code may have another
base, and weight outside the window shifts the codes of all contexts.
"""

from __future__ import annotations

import itertools
from functools import partial
from typing import NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Int

from anyorder.estimators import matching, pseudo_attention
from anyorder.io.atomic import Row
from anyorder.models import Transformer
from anyorder.sweeps.analysis import spread
from anyorder.training.attention_sums import length_sums

#: Offsets beyond k with separate weights.
OFFSETS_BEYOND = 3
#: Longest run of one symbol in a displayed sequence.
LONGEST_RUN = 8
#: Two contexts are confused if a key of the other one gets more than this share of the attention on a correct key.
CONFUSED = 0.5

Maps = Float[Array, "count rows rows"]


@eqx.filter_jit
def first_heads(model: Transformer, tokens: Int[Array, "count length"]) -> tuple[Maps, ...]:
    """The first head of every layer on every sequence."""

    def one(row: Int[Array, "length"]) -> tuple[Array, ...]:
        return tuple(heads[0] for heads in model.trace(row).attention)

    return jax.lax.map(one, tokens, batch_size=32)


def offset_weights(maps: Maps, order: int) -> Float[np.ndarray, "offsets"]:
    """Mean weight at offsets 0 … k + 3, over the queries that have all of them; the rest is at larger offsets.

    >>> offset_weights(jax.numpy.eye(9)[None], order=1).tolist()
    [1.0, 0.0, 0.0, 0.0, 0.0]
    """
    far = order + OFFSETS_BEYOND
    queries = np.arange(far, maps.shape[1])
    values = np.asarray(maps, np.float64)
    return np.array([values[:, queries, queries - offset].mean() for offset in range(far + 1)])


def rises_and_ends(weights: Float[np.ndarray, "offsets"], order: int) -> tuple[bool, bool]:
    """Whether the weight grows from offset 1 to offset k, and whether that at k + 1 is less than half of that at k.

    >>> rises_and_ends(np.array([0.0, 0.2, 0.8, 0.0]), 2), rises_and_ends(np.array([0.0, 0.6, 0.2, 0.1]), 2)
    ((True, True), (False, False))
    """
    rises = (np.diff(weights[1 : order + 1]) > 0).all()
    return bool(rises), bool(weights[order + 1] < weights[order] / 2)


def uniform_distances(tokens: Int[Array, "count length"], order: int) -> Float[np.ndarray, "count"]:
    """Frobenius distance of uniform attention to the pseudo-attention map, that of a model that ignores matches."""
    length = tokens.shape[1]
    uniform = np.tri(length) / np.arange(1, length + 1)[:, None]
    return np.asarray(jnp.linalg.norm(uniform - ideal_maps(tokens, order), axis=(1, 2)))


def fitted_base(weights: Float[np.ndarray, "seeds offsets"], order: int) -> Row:
    """Base b of weights ∝ b^i at offsets 1 … k, by least squares of logarithms, and its 95% interval over seeds."""
    offsets = np.arange(1, order + 1)
    slopes = np.array([np.polyfit(offsets, np.log(row[1 : order + 1]), 1)[0] for row in weights])
    low, high = np.exp(spread(slopes).interval).tolist() if len(slopes) > 1 else (None, None)
    return {"base": float(np.exp(slopes.mean())), "low": low, "high": high}


class Pair(NamedTuple):
    """Two contexts: the distance of their codes, and layer 2's attention on one as a fraction of that on the other."""

    contexts: tuple[str, str]
    code_distance: float
    attention: float


def code_distances(weights: Float[np.ndarray, "offsets"], order: int) -> dict[tuple[str, str], float]:
    """Every pair of binary contexts, oldest token first, and the distance of their codes.

    The code of a context is the sum of the weights at the offsets where it has a one.

    >>> code_distances(np.array([0.0, 0.25, 0.75]), 2)["01", "10"]
    0.5
    """
    words = map("".join, itertools.product("01", repeat=order))
    codes = {word: sum(weights[order - place] for place, one in enumerate(word) if one == "1") for word in words}
    return {(a, b): float(abs(codes[a] - codes[b])) for a, b in itertools.combinations(codes, 2)}


def weight_beyond(weights: Float[np.ndarray, "offsets"], order: int) -> float:
    """Weight of layer 1 beyond the window: tokens there move a code by at most this.

    This excludes the token itself, at offset 0, which the stream has in a separate block.
    """
    return float(1 - weights[: order + 1].sum())


def pairs(
    weights: Float[np.ndarray, "offsets"], second: Maps, tokens: Int[Array, "count length"], order: int
) -> list[Pair]:
    """Every pair of contexts under a model's code, and layer 2's mean confusion of it over both directions."""
    windows = np.lib.stride_tricks.sliding_window_view(np.asarray(tokens), order, axis=1)
    numbers = windows @ 2 ** np.arange(order)[::-1]  # the window that ends at each token, as a number
    # Queries from the first full window on, and keys with a window before them, which is their context.
    values = _over_uniform(second, tokens)[:, order - 1 :, order:]
    earlier = np.tri(tokens.shape[1], dtype=bool)[order - 1 :, order:]
    attention = np.zeros((2**order, 2**order))
    for asked, kept in itertools.product(range(2**order), repeat=2):
        both = (numbers[:, :, None] == asked) & (numbers[:, None, :-1] == kept) & earlier
        attention[asked, kept] = values[both].sum() / max(both.sum(), 1)
    shared = attention / np.maximum(np.diag(attention)[:, None], 1e-12)
    return [
        Pair((a, b), distance, float((shared[int(a, 2), int(b, 2)] + shared[int(b, 2), int(a, 2)]) / 2))
        for (a, b), distance in code_distances(weights, order).items()
    ]


def ideal_maps(tokens: Int[Array, "count length"], order: int) -> Maps:
    """The pseudo-attention map of every sequence."""
    return jax.lax.map(partial(pseudo_attention, order=order), tokens, batch_size=32)


def _over_uniform(maps: Maps, tokens: Int[Array, "count length"]) -> Float[np.ndarray, "count length length"]:
    """Weight times the number of keys: one is uniform attention, at every position of the query."""
    length = tokens.shape[1]
    return np.asarray(maps, np.float64)[:, -length:, -length:] * np.arange(1, length + 1)[:, None]


def match_contrast(second: Maps, tokens: Int[Array, "count length"], order: int) -> float:
    """Mean attention of layer 2 on keys of match length k or more over that on shorter ones, both relative to uniform.

    >>> rows = jnp.asarray(np.random.default_rng(0).integers(0, 2, (8, 16)), jnp.int32)
    >>> round(match_contrast(jnp.tile(jnp.tri(16) / jnp.arange(1, 17)[:, None], (8, 1, 1)), rows, 2), 6)
    1.0
    """
    length = tokens.shape[1]
    sums = jax.vmap(lambda weights, row: length_sums(weights[None, -length:, -length:], row, order)[0])(second, tokens)
    mass, even = np.asarray(sums, np.float64).sum(axis=0)
    return float(mass[order] / even[order] * even[:order].sum() / mass[:order].sum())


def telling(tokens: Int[Array, "count length"], number: int) -> Int[Array, "shown length"]:
    """The first sequences in which each symbol is a quarter of the tokens and no run is longer than `LONGEST_RUN`."""
    rows = np.asarray(tokens)
    windows = np.lib.stride_tricks.sliding_window_view(rows, LONGEST_RUN + 1, axis=1)
    runs = (windows == windows[..., :1]).all(axis=2).any(axis=1)
    common = np.min([(rows == symbol).mean(axis=1) for symbol in range(rows.max() + 1)], axis=0) >= 1 / 4
    return tokens[np.flatnonzero(common & ~runs)[:number]]


def longer_match_ratio(second: Maps, tokens: Int[Array, "count length"], order: int) -> float:
    """Attention of layer 2 on a matching key whose next older token agrees too, over that where it does not.

    Uniform attention has ratio one. The k-gram, which ignores older tokens, has less: after frequent windows its
    attention is shared among many keys, and these agree more often. The baseline is therefore that of `ideal_maps`.
    """
    values = _over_uniform(second, tokens)
    matched, longer = (
        np.array(jax.vmap(partial(matching.window_matches, order=span))(tokens)) for span in (order, order + 1)
    )
    matched[:, :, : order + 1] = False  # keys that have an older token
    return float(values[matched & longer].mean() / values[matched & ~longer].mean())
