"""A function seen as a model."""

import numpy as np
import pytest

from anyorder.errors import InputError
from anyorder.probing.adapters.callables import CallableModel


def attend(tokens):
    """Two layers, of one head and of three; logits that name the token itself."""
    rows = len(tokens)
    return [np.full((1, rows, rows), 0.1), np.full((3, rows, rows), 0.2)], 2 * np.eye(5)[tokens]


def test_it_has_the_heads_and_predictions_of_its_function():
    model = CallableModel(attend, vocabulary=5, start=2)
    assert model.heads == (1, 3)
    assert model.ids.tolist() == [0, 1, 3, 4]  # all but the token that every sequence starts with
    look = model.run(np.array([2, 0, 4]), layers=[1])
    assert {layer: weights.shape for layer, weights in look.attention.items()} == {1: (3, 3, 3)}
    likely, other = np.exp(2) / (np.exp(2) + 4), 1 / (np.exp(2) + 4)
    np.testing.assert_allclose(
        np.exp(look.log_probabilities), np.where(np.eye(5)[[2, 0, 4]], likely, other), rtol=1e-12
    )


def test_heads_of_a_function_cannot_be_switched_off():
    with pytest.raises(InputError, match="cannot be switched off; probe without ablation"):
        CallableModel(attend, vocabulary=5).run(np.array([0, 1]), off=[(0, 0)])


def test_attention_alone_is_enough_if_the_vocabulary_is_named():
    with pytest.raises(InputError, match="returns no logits: its vocabulary is unknown"):
        CallableModel(lambda tokens: attend(tokens)[0])
    model = CallableModel(lambda tokens: attend(tokens)[0], vocabulary=5)
    assert model.heads == (1, 3)
    assert model.run(np.array([0, 1]), layers=[0]).log_probabilities is None
    assert CallableModel(attend).ids.tolist() == [0, 1, 2, 3, 4]  # as many as there are logits


def test_attention_of_another_shape_is_refused():
    with pytest.raises(InputError, match=r"shape \(2, 3\), must be \(heads, 3, 3\)"):
        CallableModel(lambda tokens: [np.zeros((2, 3))], vocabulary=5)
