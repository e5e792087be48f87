"""Values that are accepted as one sequence of tokens."""

import inspect

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import anyorder
from anyorder.errors import InputError
from anyorder.io.tokens import as_tokens, check_tokens, numbered, size_of, spelled


@pytest.mark.parametrize("given", [[0, 1, 1], (0, 1, 1), np.array([0, 1, 1], np.uint8), jnp.array([0, 1, 1])])
def test_lists_and_arrays_of_integers(given):
    tokens = as_tokens(given, 2, 2)
    assert tokens.dtype == jnp.int32
    assert tokens.tolist() == [0, 1, 1]


def test_a_string_with_its_alphabet():
    assert spelled("ba\nβ", "βab\n").tolist() == [2, 1, 3, 0]


@pytest.mark.parametrize(
    ("given", "options", "message"),
    [
        ([], {}, "the sequence is empty; give at least one token"),
        ("", {"alphabet": "ab"}, "the sequence is empty"),
        (np.zeros(0), {"order": 1}, "the sequence is empty"),
        (None, {}, "of type NoneType, must be one sequence of integers"),
        (b"ab", {}, "of type bytes, must be one sequence of integers"),
        ([[0, 1]], {}, "shape (1, 2), must be one sequence"),
        ([0.5, 1.0], {}, "dtype float64, must be integers"),
        ([0, 1], {"order": 2}, "order is 2, must be smaller than the length 2"),
        ([0, -1], {}, "token -1 at position 1, must be 0 to 1; correct the input"),
        ([0, 2], {}, "token 2 at position 1, must be 0 to 1; raise the alphabet size to 3"),
        ("ab", {}, "is a string and has no alphabet"),
        ("abc", {"alphabet": "ab"}, "character 'c' at position 2, not in the alphabet 'ab'; add it"),
        ("ab", {"alphabet": "aba"}, "repeats 'a'"),
    ],
)
def test_what_is_refused(given, options, message):
    with pytest.raises(InputError) as caught:
        as_tokens(spelled(given, **options) if "alphabet" in options else given, options.get("order"), 2)
    assert message in str(caught.value)
    assert "--" not in str(caught.value)


def test_an_alphabet_has_a_size_of_its_own():
    assert size_of(3, "abc") == size_of(None, "abc") == size_of(3, None) == 3
    with pytest.raises(InputError, match="alphabet size is 2, the alphabet 'abc' has 3 characters; drop one"):
        size_of(2, "abc")


def test_traced_tokens_pass_unchecked():
    assert jax.jit(lambda tokens: as_tokens(tokens, None, 2))(jnp.array([0, 1])).tolist() == [0, 1]


def test_places_of_parts_count_from_where_they_begin():
    with pytest.raises(InputError, match="at position 12,"):
        check_tokens(np.array([0, 1, 9]), 2, begin=10)
    with pytest.raises(InputError, match="character 'x' at position 11,"):
        numbered("ax", "ya", begin=10)


@pytest.mark.parametrize("name", ["kgram", "bayes", "backoff", "mixture"])
def test_estimators_take_text(name):
    estimator, order = getattr(anyorder.estimators, name), "max_order" if name == "mixture" else "order"
    text = estimator("abacaba", alphabet="abc", **{order: 1})
    numbers = estimator([0, 1, 0, 2, 0, 1, 0], alphabet_size=3, **{order: 1})
    np.testing.assert_array_equal(text.probabilities, numbers.probabilities)
    assert "alphabet" in inspect.signature(estimator).parameters
    with pytest.raises(InputError, match="has no alphabet"):
        estimator("abacaba", alphabet_size=3, **{order: 1})
