"""`recurrent` and `recurrent-bayes`: every sequence of small lengths, the table, and the largest exact counts."""

from __future__ import annotations

import numpy as np
import pytest

from anyorder.constructions import construct, plan
from anyorder.constructions.verify import verify
from anyorder.errors import InputError
from anyorder.models.streaming import begin, step
from tests import oracles_constructions as oracles
from tests.constructions.cases import TOKENS

SMALL = [(1, 2, 10), (2, 2, 10), (3, 2, 10), (1, 3, 6), (2, 3, 6)]


@pytest.mark.parametrize("name", ["recurrent", "recurrent-bayes"])
@pytest.mark.parametrize(("order", "symbols", "length"), SMALL)
def test_every_sequence(name, order, symbols, length):
    found = verify(name, order=order, alphabet_size=symbols, length=length, exhaustive=True, dtype="float32")
    assert found.passed
    assert found.assumptions == {}


def test_the_table_holds_the_counts():
    order, symbols = 2, 3
    model = construct("recurrent", order=order, alphabet_size=symbols, length=40)
    state = begin(model)
    for token in TOKENS:
        state, _ = step(model, state, int(token))
    (table,) = state[0].heads
    counts = np.zeros((symbols**order, symbols))
    for older, newer, following in zip(TOKENS, TOKENS[1:], TOKENS[2:], strict=False):
        counts[symbols * older + newer, following] += 1
    assert table.tolist() == counts.tolist()


def test_smoothing_with_any_beta():
    model = construct("recurrent-bayes", order=3, alphabet_size=3, length=40, beta=0.3)
    expected = oracles.add_beta(TOKENS.tolist(), 3, 3, 0.3)
    assert np.abs(np.asarray(model(TOKENS)) - expected)[2:].max() <= model.certificate.bound < 1e-14


@pytest.mark.parametrize(("dtype", "last"), [("bfloat16", 258), ("float16", 2050)])
def test_counts_end_where_whole_numbers_do(dtype, last):
    asked = {"order": 2, "alphabet_size": 2, "dtype": dtype}
    assert plan("recurrent", length=last, **asked).shortcoming is None
    refused = plan("recurrent", length=last + 1, **asked)
    assert refused.refusal.partition("; use ")[2] == f"float32, length ≤ {last}, or `convolution`"
    # One more match is lost: the count of a run no longer grows, while that of the other symbol does.
    model = refused.build(force=True)
    state, ones = begin(model), np.zeros(2 * last, int)
    for token in ones:
        state, _ = step(model, state, int(token))
    assert float(state[0].heads[0].max()) == last - 2


@pytest.mark.parametrize(("order", "symbols", "most"), [(15, 2, 14), (8, 4, 7), (3, 200, 1)])
def test_a_table_that_would_fill_the_memory_is_refused_first(order, symbols, most):
    with pytest.raises(InputError) as caught:
        construct("recurrent", order=order, alphabet_size=symbols, length=64)
    assert str(caught.value) == (
        f"the table would have {symbols}^{order} = {symbols**order} contexts, at most 16384 fit; "
        f"use order ≤ {most}, or `convolution`"
    )


@pytest.mark.parametrize(("name", "less"), [("one-layer", 0), ("recurrent", 0), ("recurrent-bayes", 1)])
@pytest.mark.parametrize(("dtype", "bits"), [("bfloat16", 8), ("float16", 11), ("float32", 24), ("float64", 53)])
def test_lengths_hold_while_counts_are_whole(name, less, dtype, bits):
    longest = 2**bits + 3 - less
    for length, held in ((longest, True), (longest + 1, False)):
        found = plan(name, order=3, alphabet_size=2, length=length, dtype=dtype)
        assert (found.shortcoming is None) == held
