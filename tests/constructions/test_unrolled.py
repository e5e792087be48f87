"""`unrolled`: the outputs of its layers, certified orders, and rejected requests; `k-head`, which needs no bits."""

from __future__ import annotations

import math

import numpy as np
import pytest

from anyorder.constructions import construct, plan
from anyorder.errors import InputError
from anyorder.io.numerics import DTYPES
from tests import oracles_constructions as oracles
from tests.constructions.cases import TOKENS


def test_codes_are_whole_numbers():
    order = 22
    trace = construct("unrolled", order=order, alphabet_size=3, length=40, dtype="float32").trace(TOKENS)
    code = np.asarray(trace.block("code_1", "attention 1"), np.float64) - np.asarray(trace.block("token", "embedding"))
    for n in range(order, 40):
        expected = [sum(2 ** (i - 1) for i in range(1, order + 1) if TOKENS[n - i] == s) for s in range(3)]
        assert code[n].tolist() == expected


@pytest.mark.parametrize(
    ("name", "dtype", "heads", "last"),
    [
        ("unrolled", "bfloat16", 1, 6),
        ("unrolled", "float16", 1, 9),
        ("unrolled", "float32", 1, 22),
        ("unrolled", "float64", 1, 51),
        ("unrolled", "float32", 4, 88),
        ("unrolled-bayes", "float32", 1, 22),
        ("unrolled-bayes", "float64", 1, 51),
        ("unrolled-bayes", "bfloat16", 2, 12),
    ],
)
def test_the_last_order_that_is_certified(name, dtype, heads, last):
    asked = {"alphabet_size": 2, "length": 1024, "dtype": dtype, "heads": heads}
    held, broken = plan(name, order=last, **asked), plan(name, order=last + 1, **asked)
    assert held.shortcoming is None
    assert (held.certificate.margin, held.certificate.bits_needed) == (1.0, -(-last // heads) + 2)
    assert held.certificate.bound < 1
    assert broken.certificate.bound == 1.0
    assert f"order ≤ {last}" in broken.refusal


def test_the_refusal_names_the_best_ways_out():
    with pytest.raises(InputError) as caught:
        construct("unrolled", order=30, alphabet_size=2, length=1024, dtype="float32")
    assert str(caught.value) == (
        "order 30 with `unrolled` needs 32 bits, float32 has 24; "
        "use float64, 2 heads (`heads=2`), order ≤ 22, or `k-head`"
    )


@pytest.mark.parametrize("heads", [1, 2])
def test_the_sink_counts_contexts_never_seen(heads):
    order, symbols = 4, 3
    model = construct("unrolled-bayes", order=order, alphabet_size=symbols, length=40, heads=heads, beta=0.5)
    expected = oracles.add_beta(TOKENS.tolist(), order, symbols, 0.5)
    defined = ~np.isnan(expected[:, 0])
    assert defined.sum() == 40 - order + 1
    np.testing.assert_allclose(np.asarray(model(TOKENS))[defined], expected[defined], atol=1e-12)


def test_the_rounding_bounds_of_the_proof():
    """docs/precision.md, proof of Theorem 1: the errors ε_j in units of u, and the bracket for b = 1, 2, 3."""
    errors = [0.0, 0.0]
    errors += [2 ** math.floor(math.log2(j * math.log(2))) + 0.21 * j + 2 for j in range(2, 40)]
    assert all(error <= most for error, most in zip(errors[2:7], (3.5, 4.7, 4.9, 5.1, 7.3), strict=True))
    assert all(error <= j + 3 for j, error in enumerate(errors))
    brackets = [
        errors[b] + sum(e / 2 ** (j - b) + 1 for j, e in enumerate(errors) if j > b and e >= 2 ** (j - b))
        for b in range(30)
    ]
    assert all(bracket <= most for bracket, most in zip(brackets, (0, 4.93, 9.1, 10.5), strict=False))
    assert max(bracket / 2 ** (3 + b) for b, bracket in enumerate(brackets)) <= 0.31


def test_heads_need_no_bits():
    for dtype in DTYPES:
        assert construct("k-head", order=16, alphabet_size=2, length=1024, dtype=dtype).certificate.bits_needed <= 8


def test_k_head_is_the_member_with_one_offset_a_head():
    asked = {"order": 3, "alphabet_size": 2, "length": 40, "dtype": "float32"}
    one, other = construct("k-head", **asked), construct("unrolled", **asked, heads=3)
    assert one.blocks == other.blocks
    assert not other.layers[0].mlp
    assert plan("k-head", **asked).steps == plan("unrolled", **asked, heads=3).steps
    np.testing.assert_array_equal(one(TOKENS % 2), other(TOKENS % 2))
