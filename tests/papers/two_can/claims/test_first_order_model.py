"""The model of App. C.1: its shapes, its matrices against the printed displays, and the inputs without effect."""

import jax.numpy as jnp
import numpy as np
import pytest

from anyorder.papers.two_can.claims.first_order_model import SYMBOLS, first_order_model

TOKENS = np.array([0, 2, 1, 1, 0, 2, 2, 0, 1, 0])
P = jnp.asarray(np.random.default_rng(5).normal(size=10))


def by_hand(p, a_2, normalise):
    """App. C.1 by loops: v_i, u = e_{x_n}, and frequencies weighted by exp(a_2 <v_i, u>)."""
    p, hot = np.asarray(p), np.eye(SYMBOLS)
    last, weights = len(TOKENS) - 1, []
    for i in range(last + 1):
        attention = np.exp(p[: i + 1]) / np.exp(p[: i + 1]).sum()
        v = sum(attention[j] * hot[TOKENS[i - j]] for j in range(i + 1))
        weights.append(np.exp(a_2 * (v / np.linalg.norm(v) if normalise else v) @ hot[TOKENS[last]]))
    return sum(weight * hot[token] for weight, token in zip(weights, TOKENS, strict=True)) / sum(weights)


@pytest.mark.parametrize("normalise", [False, True])
def test_it_is_the_reduced_model(normalise):
    model = first_order_model(P, 3.0, normalise=normalise)
    np.testing.assert_allclose(model(TOKENS)[-1], by_hand(P, 3.0, normalise), atol=1e-12)
    assert model.dimension == 6 * SYMBOLS + 3
    assert [len(layer.heads) for layer in model.layers] == [1, 1]
    assert len(model.layers[0].mlp) == 3


def test_the_printed_matrices_give_the_frequencies_of_the_symbols_whatever_is_learned():
    frequencies = np.bincount(TOKENS, minlength=SYMBOLS) / len(TOKENS)
    for p, a_2 in ((P, 3.0), (0 * P, 7.0)):
        np.testing.assert_allclose(first_order_model(p, a_2, printed=True)(TOKENS)[-1], frequencies, atol=1e-12)


def test_printed_blocks_are_where_the_displays_have_them():
    model, s = first_order_model(P, 1.0, printed=True), SYMBOLS
    third, query = (np.asarray(weight) for weight in (model.layers[0].mlp[2].weight, model.layers[1].heads[0].query))
    expected = np.zeros_like(third)  # rows 3, 3S, S, 2S; columns 3, S, and the rest: the identity is the third block
    expected[3 + 3 * s : 3 + 4 * s, 3 : 3 + s] = np.eye(s)
    np.testing.assert_array_equal(third, expected)
    expected = np.zeros_like(query)  # 1 in the corner, and the identity after 1 + (2 + 3S) columns
    expected[0, 0] = 1
    expected[1 : 1 + s, 3 + 3 * s : 3 + 4 * s] = np.eye(s)
    np.testing.assert_array_equal(query, expected)
