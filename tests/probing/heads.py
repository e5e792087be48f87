"""Attention of known heads, written independently of the tested code."""

import numpy as np

from anyorder.probing import Settings
from anyorder.probing.adapters.callables import CallableModel

FEW = Settings(sequences=8, length=110)


def normalised(scores):
    scores = np.tril(scores) + 1e-9 * np.tri(len(scores))
    return scores / scores.sum(axis=1, keepdims=True)


def _by_window(tokens, order, name):
    """Uniform over the keys whose previous `order` tokens have the same name as the query's last ones."""
    length, ends = len(tokens), {}
    scores = np.zeros((length, length))
    for n in range(order - 1, length):
        window = name(tokens[n - order + 1 : n + 1].tolist())
        scores[n, ends.get(window, [])] = 1
        ends.setdefault(window, []).append(n + 1)  # the key is the token after the window
    return normalised(scores)


def induction(tokens, order):
    return _by_window(tokens, order, tuple)


def bag(tokens, order):
    return _by_window(tokens, order, lambda window: tuple(sorted(window)))


def uniform(tokens):
    return normalised(np.ones((len(tokens), len(tokens))))


def at_offset(tokens, offset):
    return normalised(np.eye(len(tokens), k=-offset))


def duplicate(tokens):
    """Attention to earlier copies of the current token: content-based, but not induction."""
    return normalised(tokens[:, None] == tokens[None, :])


def noise(tokens, generator):
    """Random rows, some of them on a single key."""
    return normalised(np.exp(3 * generator.standard_normal((len(tokens), len(tokens)))))


def with_heads(*makes):
    """A model whose heads are these functions of the tokens; it predicts the tokens that the last one attends to."""

    def attend(tokens):
        attention = np.stack([make(tokens) for make in makes])
        return [attention], np.log(attention[-1] @ np.eye(8)[tokens] + 1e-9)

    return CallableModel(attend, vocabulary=8)
