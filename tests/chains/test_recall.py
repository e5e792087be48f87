"""Key-value recall against an enumeration of all its sequences in fractions."""

import itertools
from fractions import Fraction

import jax
import numpy as np
import pytest

from anyorder.chains import Recall, Source
from anyorder.errors import InputError
from tests import oracles


def all_sequences(order, size, length):
    """Every sequence of the source, each as likely as the others."""
    pairs = length // 2 - order
    for marked, values in itertools.product(range(pairs), itertools.product(range(size - 1), repeat=pairs)):
        tokens = [0] * (order - 1 + length % 2)
        for place, value in enumerate(values):
            tokens += [size - 1 if place == marked else 0, value]
        at = order - 1 + length % 2 + 2 * marked
        yield [*tokens, *tokens[at - order + 1 : at + 1], values[marked]]


def enumerated(tokens, sequences, size):
    """The distribution of every token given those before it, by counting sequences that begin alike."""
    rows = []
    for place in range(len(tokens)):
        nexts = [other[place] for other in sequences if other[:place] == tokens[:place]]
        rows.append([Fraction(nexts.count(symbol), len(nexts)) for symbol in range(size)])
    return rows


@pytest.mark.parametrize(("order", "size", "length"), [(1, 3, 8), (1, 4, 7), (2, 3, 10), (3, 3, 12), (2, 4, 9)])
def test_tokens_come_from_what_the_enumeration_says(order, size, length):
    sequences = list(all_sequences(order, size, length))
    drawn = Source(Recall(order, size), length=length).sample(0, 64)
    seen = {tuple(tokens) for tokens in np.asarray(drawn.tokens).tolist()}
    assert seen <= set(map(tuple, sequences))
    assert len(seen) > min(10, len(sequences) // 2)
    for tokens, truth in list(zip(np.asarray(drawn.tokens).tolist(), np.asarray(drawn.truth), strict=True))[:4]:
        np.testing.assert_allclose(truth, np.array(enumerated(tokens, sequences, size), float), atol=1e-15)
        kgram = oracles.ESTIMATORS["kgram"](tokens, length - 2, order, size)
        assert kgram[tokens[-1]] == 1


def test_predictions_need_only_the_tokens_so_far():
    prior = Recall(2, 4)
    tokens, truth = prior.sequence(jax.random.key(1), 20)
    for read in (5, 12, 19):
        np.testing.assert_array_equal(prior.predict(tokens[:read], 20), truth[1 : read + 1])


def test_what_is_too_small_is_refused():
    with pytest.raises(InputError, match="alphabet size is 2, recall needs two values and a marker"):
        Recall(1, 2)
    with pytest.raises(InputError, match="5 tokens hold no pair; recall of order 2 needs at least 6"):
        Source(Recall(2, 3), length=5).sample(0, 1)
