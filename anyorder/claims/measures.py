"""What several entries measure with: codes of contexts, verified constructions, another reading of Definition 3."""

from __future__ import annotations

import functools
import itertools
from collections.abc import Callable

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Bool, Float, Int
from numpy.typing import ArrayLike
from scipy.spatial.distance import pdist
from scipy.special import softmax

from anyorder.chains import Prior
from anyorder.constructions import construct
from anyorder.constructions.construction import OptionValue
from anyorder.constructions.sequences import hard_sequences
from anyorder.constructions.verify import Verification, verify
from anyorder.estimators import Estimate, kgram
from anyorder.transformer import Head, Transformer
from anyorder.transformer.mlp import run_stack

#: Settings that decide and are cheap; a sequence of each kind.
LENGTH, SEQUENCES = 128, 4
#: Above the rounding of float64 at the orders tried, far below what any error in a weight does.
TOLERANCE = 1e-6
#: Differences below this are rounding.
ROUNDING = 1e-12


def apart(first: ArrayLike, second: ArrayLike | int | float) -> float:
    """The largest absolute difference of two arrays, or of an array and a number.

    >>> apart([1.0, 2.0], [1.5, 2.0])
    0.5
    """
    return float(np.abs(np.asarray(first) - np.asarray(second)).max())


def never_rises(values: Float[np.ndarray, "*cases steps"]) -> Bool[np.ndarray, "*cases"]:
    """Whether no value is above the one before it.

    >>> never_rises(np.array([[3.0, 1.0, 1.0], [3.0, 1.0, 2.0]])).tolist()
    [True, False]
    """
    return np.asarray((np.diff(values) < ROUNDING).all(axis=-1))


@functools.cache
def verified(name: str, order: int, alphabet_size: int = 2) -> Verification:
    """A construction held against its exact estimator on hard sequences; measured once a process."""
    return verify(name, order=order, alphabet_size=alphabet_size, length=LENGTH, sequences=SEQUENCES)


def built(name: str, order: int, *, force: bool = False, **options: OptionValue) -> Transformer:
    """A construction in float64 for two symbols and the common length."""
    return construct(name, order=order, alphabet_size=2, length=LENGTH, dtype="float64", force=force, **options)


def hard(order: int, alphabet_size: int = 2) -> Int[np.ndarray, "count length"]:
    """The common sequences."""
    return hard_sequences(count=SEQUENCES, length=LENGTH, alphabet_size=alphabet_size, order=order, seed=0)


def distance_to_kgram(
    predict: Callable[[Int[np.ndarray, "length"]], ArrayLike], order: int, estimate: Callable[..., Estimate] = kgram
) -> float:
    """The largest error against Definition 2, or another estimate, over the common sequences, where it is defined."""
    worst = 0.0
    for tokens in hard(order):
        exact, defined = map(np.asarray, estimate(tokens, order=order, alphabet_size=2))
        worst = max(worst, apart(np.asarray(predict(tokens))[defined], exact[defined]))
    return worst


def matches(tokens: Int[np.ndarray, "length"], first: int, compared: range) -> Bool[np.ndarray, "length length"]:
    """Index sets as the paper writes them: i from `first` to n with x_{i-1-j} = x_{n-j} for all j of a range.

    >>> matches(np.array([0, 1, 0, 1, 0]), 1, range(1))[-1].astype(int).tolist()
    [0, 1, 0, 1, 0]
    """
    length = len(tokens)
    found = np.zeros((length, length), dtype=bool)
    for n in range(max(compared), length):
        for i in range(max(first, max(compared) + 1), n + 1):
            found[n, i] = all(tokens[i - 1 - j] == tokens[n - j] for j in compared)
    return found


def frequencies_at(found: Bool[np.ndarray, "length length"], tokens: Int[np.ndarray, "length"]) -> np.ndarray:
    """The distribution of the tokens at the positions found; NaN where there are none."""
    counts = found @ np.eye(int(tokens.max()) + 1)[tokens]
    with np.errstate(invalid="ignore"):
        return counts / counts.sum(axis=1, keepdims=True)


def contexts(alphabet_size: int, order: int) -> list[tuple[int, ...]]:
    """All contexts, oldest token first."""
    return list(itertools.product(range(alphabet_size), repeat=order))


def codes(alphabet_size: int, order: int, base: float = 3.0) -> Float[np.ndarray, "contexts symbols"]:
    """Σ_i base^(i-1) e_{x_{n-i}}, i = 1 … k, for all contexts, not yet divided by C: the oldest weighs most.

    >>> codes(2, 2).tolist()
    [[4.0, 0.0], [3.0, 1.0], [1.0, 3.0], [0.0, 4.0]]
    """
    weights = base ** np.arange(order - 1, -1, -1)
    return np.stack([weights @ np.eye(alphabet_size)[list(context)] for context in contexts(alphabet_size, order)])


def directions(vectors: Float[np.ndarray, "count width"]) -> Float[np.ndarray, "count width"]:
    """Every row divided by its length."""
    return vectors / np.linalg.norm(vectors, axis=1, keepdims=True)


def nearest(vectors: Float[np.ndarray, "count width"]) -> float:
    """The smallest distance between the directions of two different rows."""
    return float(pdist(directions(vectors)).min())


def definition_three(
    model: Transformer, tokens: Int[np.ndarray, "length"], query: str = "n"
) -> Float[np.ndarray, "length symbols"]:
    """Definition 3 in NumPy, position by position, with the query of position n, or with the printed x_i.

    Written without the package's attention; the MLP between the layers is the package's.
    """
    stream = np.asarray(model.embedding)[tokens]
    for layer in model.layers:
        stream = stream + sum(_head(head, stream, query) for head in layer.heads)
        stream = np.asarray(run_stack(layer.mlp, layer.mlp_norm, jnp.asarray(stream))[-1])
    return np.maximum(stream @ np.asarray(model.output).T, 0.0)


def _head(head: Head, stream: Float[np.ndarray, "length d"], query: str) -> Float[np.ndarray, "length d"]:
    queries, keys, values = (stream @ np.asarray(weight).T for weight in (head.query, head.key, head.value))
    by_offset = [np.zeros_like(keys), np.zeros_like(values)]  # zero beyond the end of a table of positions
    for rows, table in zip(by_offset, (head.key_positions, head.value_positions), strict=True):
        if table is not None:
            rows[: len(table)] = np.asarray(table)[: len(rows)]
    out = np.zeros_like(values)
    for n in range(len(stream)):
        key_rows, value_rows = (rows[n::-1] for rows in by_offset)
        asked = queries[n] if query == "n" else queries[: n + 1]
        scores = float(head.scale) * ((keys[: n + 1] + key_rows) * asked).sum(axis=1)
        out[n] = softmax(scores) @ (values[: n + 1] + value_rows)
    return out


def uniform_head(tokens: np.ndarray, order: int, kappa: float) -> np.ndarray:
    """The second layer of App. D with v_i the mean of the k tokens before i, u_n of the last k, directions compared."""
    one_hot, length = np.eye(2)[tokens], len(tokens)
    window = directions(np.lib.stride_tricks.sliding_window_view(one_hot, order, axis=0).mean(axis=2))
    u, v = window[1:], window[:-1]  # from n = k and i = k on
    scores = np.zeros((length, length))
    scores[order:, :order] = -np.inf
    scores[order:, order:] = np.where(np.tri(length - order), kappa * u @ v.T, -np.inf)
    return softmax(scores, axis=1) @ one_hot


def second_attention(model: Transformer, tokens: Int[np.ndarray, "length"]) -> Float[np.ndarray, "length length"]:
    """The attention of the last layer's head."""
    return np.asarray(model.trace(tokens).attention[-1])[0]


@functools.cache
def drawn(prior: Prior, count: int, seed: int = 0) -> Float[np.ndarray, "count *kernel"]:
    """Kernels from a prior, drawn once a process."""
    return np.asarray(jax.jit(jax.vmap(lambda key: prior.draw(key)))(jax.random.split(jax.random.key(seed), count)))
