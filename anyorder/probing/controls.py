"""Controls for an order: alternative explanations, and the scores used by other tools."""

from __future__ import annotations

import numpy as np
from jaxtyping import Float, Int

from anyorder.probing.spectrum import Rows, Spectrum, matched, quotient


def distractor(spectrum: Spectrum, order: int) -> float:
    """Attention to keys that match exactly order - 1 tokens, relative to keys that match `order` tokens or more.

    Zero for an ideal head, one for a head of lower order.
    """
    mass, chance = spectrum.mass.sum(axis=0), spectrum.chance.sum(axis=0)
    near = quotient(mass[..., order - 1], chance[..., order - 1])
    return float(quotient(near, quotient(mass[..., order:].sum(-1), chance[..., order:].sum(-1))))


def permuted(
    attention: Float[np.ndarray, "queries length"], given: Rows, tokens: Int[np.ndarray, "sequences length"], order: int
) -> float:
    """Attention of one head to keys with a permutation of the last `order` tokens, relative to exact matches.

    Zero for a k-gram head, one for a head that compares bags of tokens; NaN for order 1, which has no permutations.
    """
    if order < 2:
        return float("nan")
    names, sequence = np.unique(given.sequence, return_inverse=True)
    exact, same = (
        np.stack([matched(tokens[name], order, bag=bag) for name in names])[sequence, given.position]
        for bag in (False, True)
    )
    seen = given.lengths >= 0
    exact, mixed = exact & seen, same & ~exact & seen
    return float(quotient(*(quotient((attention * keys).sum(), keys.sum()) for keys in (mixed, exact))))


def prefix_matching(
    attention: Float[np.ndarray, "*heads length length"], tokens: Int[np.ndarray, "length"]
) -> Float[np.ndarray, "*heads"]:
    """Mean attention to the tokens after earlier occurrences of the current token, over queries with such keys.

    Keys i with x_{i-1} = x_n: the "+1" of TransformerLens and of Definition 2. Olsson et al. describe the same score
    from the side of the key, with -1.

    >>> tokens = np.array([5, 6, 5])
    >>> prefix_matching(np.array([[1, 0, 0], [1, 0, 0], [0.0, 0.9, 0.1]]), tokens).tolist()
    0.9
    """
    keys = matched(tokens, 1)
    return np.asarray(attention[..., keys].sum(axis=-1) / keys.any(axis=1).sum())


def previous_token(attention: Float[np.ndarray, "*heads length length"]) -> Float[np.ndarray, "*heads"]:
    """Mean attention to the previous position.

    >>> previous_token(np.eye(3, k=-1)).tolist()
    1.0
    """
    return np.asarray(np.diagonal(attention, offset=-1, axis1=-2, axis2=-1).mean(axis=-1))


def copying(
    attended: Float[np.ndarray, "queries *heads symbols"], predicted: Float[np.ndarray, "queries symbols"]
) -> Float[np.ndarray, "*heads"]:
    """Correlation between the symbols that a head attends to and the model's predictions, over queries and symbols.

    One if the model predicts the symbols at the attended keys, zero if the two are unrelated.

    >>> copying(np.eye(3), np.eye(3)).round(6).tolist()
    1.0
    """
    predicted = predicted.reshape(len(predicted), *(1,) * (attended.ndim - 2), -1)
    axes = (0, -1)
    left, right = (values - values.mean(axis=axes, keepdims=True) for values in (attended, predicted))
    return quotient((left * right).sum(axes), np.sqrt(np.square(left).sum(axes) * np.square(right).sum(axes)))
