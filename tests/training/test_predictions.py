"""Models of every kind, as rows of probabilities."""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

from anyorder import estimators
from anyorder.errors import InputError
from anyorder.training.predictions import logits_of, predictions

TOKENS = jnp.asarray([[0, 1, 1, 0], [1, 1, 0, 1]], jnp.int32)
LOGITS = np.array([[0.0, 1.0, -1.0], [2.0, 0.5, 0.0]])
SOFTMAX = np.exp(LOGITS) / np.exp(LOGITS).sum(axis=1, keepdims=True)


def softmax_of_jax(tokens):
    return jax.nn.softmax(jnp.asarray(LOGITS)[tokens], axis=-1)


class Table(eqx.Module):
    rows: jax.Array

    def __call__(self, tokens):
        return self.rows[tokens]


@pytest.mark.parametrize(
    ("model", "output", "taken"),
    [
        (lambda tokens: LOGITS[tokens], None, "logits"),
        (lambda tokens: SOFTMAX[tokens], None, "probabilities"),
        (lambda tokens: SOFTMAX[tokens].astype(np.float32), "probabilities", "probabilities"),
        (lambda tokens: np.log(SOFTMAX)[tokens].tolist(), "logits", "logits"),
        (softmax_of_jax, None, "probabilities"),
        (Table(jnp.asarray(LOGITS)), None, "logits"),
    ],
)
def test_numpy_and_jax_models_give_the_same_rows(model, output, taken):
    rows, found = predictions(model, TOKENS, 3, output)
    assert found == taken
    np.testing.assert_allclose(rows, SOFTMAX[np.asarray(TOKENS)], rtol=1e-6)


def test_distributions_that_are_meant_as_logits_are_taken_so():
    rows, taken = predictions(lambda tokens: SOFTMAX[tokens], TOKENS, 3, "logits")
    assert taken == "logits"
    again = np.exp(SOFTMAX) / np.exp(SOFTMAX).sum(axis=1, keepdims=True)
    np.testing.assert_allclose(rows, again[np.asarray(TOKENS)], rtol=1e-12)


def test_estimates_keep_what_is_not_defined():
    rows, taken = predictions(lambda tokens: estimators.bayes(tokens, order=2, alphabet_size=2), TOKENS, 2)
    assert taken == "probabilities"
    assert np.isnan(rows[:, 0]).all()
    assert not np.isnan(rows[:, 1:]).any()


@pytest.mark.parametrize(
    ("model", "options", "message"),
    [
        (lambda tokens: np.zeros((len(tokens), 4)), {}, r"returns shape \(4, 4\) for 4 tokens, must be"),
        (Table(jnp.zeros((3, 2))), {}, r"returns shape \(4, 2\) for 4 tokens, must be \(4, 3\)"),
        (lambda tokens: jnp.zeros(3), {}, r"returns shape \(3,\) for 4 tokens"),
        (
            lambda tokens: LOGITS[tokens],
            {"output": "probabilities"},
            "the rows of the model are not distributions",
        ),
        (5, {}, "the model is a int, must map tokens to rows"),
        (lambda tokens: np.full((len(tokens), 3), np.nan), {}, "the model returns NaN in every row"),
        (lambda tokens: np.full((len(tokens), 3), -np.inf), {}, "a row of logits has the maximum -inf"),
        (lambda tokens: LOGITS[tokens], {"output": "probabilities", "noun": "floor"}, "the rows of the floor are not"),
    ],
)
def test_what_gives_no_rows_is_refused_in_a_line(model, options, message):
    with pytest.raises(InputError, match=message) as caught:
        predictions(model, TOKENS, 3, **options)
    assert "\n" not in str(caught.value)


def test_a_module_that_cannot_read_the_tokens_is_refused_in_a_line():
    with pytest.raises(InputError, match=r"the model cannot read 4 tokens: TypeError: .*dot_general"):
        logits_of(lambda tokens: jnp.ones((2, 3)) @ tokens, TOKENS[0], 3)
