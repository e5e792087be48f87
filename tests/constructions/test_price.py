"""Prices: sizes equal those of the arrays, no model is cheaper than its bound, and no model is built."""

from __future__ import annotations

import tracemalloc

import pytest

from anyorder.constructions import CONSTRUCTIONS, construct
from anyorder.constructions.parameters import account
from anyorder.constructions.price import price, prices
from anyorder.errors import InputError
from tests.oracles_constructions import kept

WORDS = {"bfloat16": 16, "float16": 16, "float32": 32, "float64": 64}


@pytest.mark.parametrize("name", sorted(set(CONSTRUCTIONS) - {"bigram", "associative", "disentangled"}))
def test_sizes_are_those_of_the_model(name):
    asked = {"order": 2, "alphabet_size": 3, "length": 20}
    found, model = price(name, **asked), construct(name, **asked)
    assert found.layers == len(model.layers)
    assert found.heads == tuple(len(layer.heads) for layer in model.layers)
    assert found.dimension == model.dimension
    assert found.parameters == sum(account(model, 20, norm_vectors=CONSTRUCTIONS[name].norm_vectors).values())
    assert found.state_bits == 64 * kept(model, 20)
    assert found.bits_needed == model.certificate.bits_needed


@pytest.mark.parametrize("dtype", WORDS)
@pytest.mark.parametrize(("order", "symbols", "length"), [(1, 2, 8), (3, 2, 1024), (3, 4, 1 << 20), (16, 2, 4096)])
def test_nothing_is_cheaper_than_its_bound(order, symbols, length, dtype):
    found = prices(order=order, alphabet_size=symbols, length=length, dtype=dtype)
    assert {one.unit for one in found} == {"mantissa bits", "bits through the heads", "taps", "bits of state", None}
    for one in found:
        assert one.unit is None or one.pays >= one.least > 0, one
    one_layer = next(one for one in found if one.construction == "one-layer")
    assert one_layer.pays == (length + order - 1) * (symbols + 2) * WORDS[dtype]


def test_constructions_of_lower_orders_are_left_out():
    names = {one.construction for one in prices(order=2, alphabet_size=2, length=16)}
    assert names == set(CONSTRUCTIONS) - {"bigram", "associative"}
    assert {"bigram", "associative"} <= {one.construction for one in prices(order=1, alphabet_size=2, length=16)}


@pytest.mark.slow
def test_sizes_beyond_memory_are_counted_without_it():
    prices(order=2, alphabet_size=2, length=16)
    tracemalloc.start()
    found = {one.construction: one for one in prices(order=128, alphabet_size=512, length=1 << 40)}
    assert tracemalloc.get_traced_memory()[1] < 1 << 22
    tracemalloc.stop()
    assert found["recurrent"].state_bits == 64 * (512**129 + 128 * 130 * 512)


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"alphabet_size": 1}, "alphabet size is 1, must be at least 2"),
        ({"order": 0}, "order is 0, must be at least 1"),
        ({"order": 1024}, "order is 1024, must be smaller than the length 1024"),
        ({"order": 129}, "order is 129, constructions go to 128"),
        ({"alphabet_size": 513}, "alphabet size is 513, constructions take 512 symbols"),
        ({"dtype": "int8"}, "dtype"),
        ({"order": "3"}, "order is '3', must be a whole number"),
    ],
)
def test_bad_input_is_refused(changes, words):
    with pytest.raises(InputError, match=words):
        prices(**{"order": 3, "alphabet_size": 2, "length": 1024} | changes)
