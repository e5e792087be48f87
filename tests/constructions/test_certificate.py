"""Margins against enumeration of all pairs of contexts, bounds, bits, and what is refused."""

from __future__ import annotations

import itertools
import math

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from anyorder.constructions import CONSTRUCTIONS, construct, plan
from anyorder.constructions.certificate import nearest_miss
from anyorder.constructions.sequences import de_bruijn_cycle
from anyorder.errors import InputError
from anyorder.numerics import DTYPES
from tests.oracles_constructions import unit


def codes(symbols, length, base):
    """All integer codes of words of that length: the newest token first, weights 1, b, b², …"""
    for word in itertools.product(range(symbols), repeat=length):
        code = np.zeros(symbols)
        for place, symbol in enumerate(word):
            code[symbol] += base**place
        yield code


@pytest.mark.parametrize("base", [2, 3])
@pytest.mark.parametrize(("symbols", "longest"), [(2, 8), (3, 5), (4, 4)])
def test_nearest_miss_is_the_minimum_over_all_pairs(base, symbols, longest):
    for order in range(1, longest + 1):
        directions = np.array([unit(code) for code in codes(symbols, order, base)])
        gaps = 1 - directions @ directions.T
        np.fill_diagonal(gaps, np.inf)
        total = sum(base**place for place in range(order))
        assert gaps.min() == pytest.approx(nearest_miss(total), rel=1e-6)


@pytest.mark.parametrize(("symbols", "longest"), [(2, 7), (3, 5), (4, 4)])
def test_attention_only_margin_bounds_all_pairs_and_stray_tokens(symbols, longest):
    for order in range(1, longest + 1):
        keys = np.array(list(codes(symbols, order, 3)))
        directions = keys / np.linalg.norm(keys, axis=1, keepdims=True)
        smallest = np.inf
        for stray in range(symbols):
            queries = 3 * keys + np.eye(symbols)[stray]
            cosines = queries / np.linalg.norm(queries, axis=1, keepdims=True) @ directions.T
            gaps = np.diag(cosines)[:, None] - cosines
            np.fill_diagonal(gaps, np.inf)
            smallest = min(smallest, gaps.min())
        promised = construct("attention-only", order=order, alphabet_size=symbols, length=99).certificate.margin
        assert promised <= smallest
        assert order < 4 or smallest < 1.2 * promised  # and it is not far below


@pytest.mark.parametrize(("symbols", "longest"), [(2, 5), (3, 3)])
def test_qk_margin_bounds_full_and_partial_windows(symbols, longest):
    for order in range(1, longest + 1):
        windows = list(codes(symbols, order, 3))
        partial = [code for length in range(1, order) for code in codes(symbols, length, 3)]
        gaps = [1 - unit(u) @ unit(v) for u in windows for v in windows + partial]
        promised = construct("two-head-qk", order=order, alphabet_size=symbols, length=99).certificate.margin
        assert promised <= min(gap for gap in gaps if gap > 1e-13)


def second_layer_scores(model, tokens):
    """Scores of the last layer divided by kappa, computed from the traced stream."""
    trace = model.trace(tokens)
    head = model.layers[-1].heads[0]
    last = len(model.layers)
    point = [name for name in trace.points if name.split(".")[0].split()[-1] == str(last - 1)][-1]
    stream = np.asarray(trace.stream(point))
    queries, keys = stream @ np.asarray(head.query).T, stream @ np.asarray(head.key).T
    if head.normalise:
        queries, keys = (np.array([unit(row) for row in rows]) for rows in (queries, keys))
    return float(head.scale) * queries @ keys.T / model.certificate.kappa


EXACT = ["two-layer", "two-head", "three-layer", "dyadic", "attention-only", "k-head", "disentangled"]


@pytest.mark.parametrize(("symbols", "order"), [(2, 3), (3, 2)])
@pytest.mark.parametrize("name", EXACT)
def test_scores_of_the_model_keep_the_margin(name, symbols, order):
    cycle = de_bruijn_cycle(symbols, order)
    tokens = np.resize(cycle, 3 * len(cycle) + 2 * order)
    model = construct(name, order=order, alphabet_size=symbols, length=len(tokens))
    scores = second_layer_scores(model, tokens)
    window = {n: tuple(tokens[n - order + 1 : n + 1]) for n in range(order - 1, len(tokens))}
    gaps = []
    for n in range(len(cycle) + order, len(tokens)):
        matches = [scores[n, i] for i in range(order, n + 1) if window[i - 1] == window[n]]
        misses = [scores[n, i] for i in range(n + 1) if i < order or window[i - 1] != window[n]]
        assert max(matches) - min(matches) < 1e-11 * max(1.0, abs(max(matches)))
        gaps.append(min(matches) - max(misses))
    assert min(gaps) >= model.certificate.margin * (1 - 1e-6)
    if name in ("two-layer", "dyadic", "k-head"):  # the closed forms are attained
        assert min(gaps) == pytest.approx(model.certificate.margin, rel=1e-6)


def test_the_refusal_names_bits_and_ways_out():
    with pytest.raises(InputError) as caught:
        construct("dyadic", order=12, alphabet_size=2, length=1024, dtype="float32")
    assert str(caught.value) == (
        "order 12 with `dyadic` needs 28 bits, float32 has 24; use float64, order ≤ 10, or `unrolled`"
    )
    forced = construct("dyadic", order=12, alphabet_size=2, length=1024, dtype="float32", force=True)
    assert forced.certificate.bound == 1.0


@pytest.mark.parametrize(
    ("name", "order", "dtype", "ways"),
    [
        ("two-layer", 6, "float64", "order ≤ 5, or `unrolled`"),
        ("dyadic", 30, "float32", "order ≤ 10, or `unrolled` with 2 heads (`heads=2`)"),
        ("bayes", 4, "float32", "float64, order ≤ 1, or `unrolled-bayes`"),
        ("unrolled", 60, "float64", "2 heads (`heads=2`), order ≤ 51, or `k-head`"),
    ],
)
def test_the_best_way_out_is_named(name, order, dtype, ways):
    refused = plan(name, order=order, alphabet_size=2, length=1024, dtype=dtype)
    assert refused.refusal.partition("; use ")[2] == ways


@pytest.mark.parametrize(
    ("name", "dtype", "last"),
    [
        ("dyadic", "bfloat16", 2),
        ("dyadic", "float16", 3),
        ("dyadic", "float32", 10),
        ("dyadic", "float64", 24),
        ("attention-only", "float32", 6),
        ("attention-only", "float64", 15),
        ("two-layer", "float32", 2),
        ("two-layer", "float64", 5),
        ("two-head-qk", "float32", 2),
        ("two-head-qk", "float64", 5),
        ("bayes", "float32", 1),
        ("bayes", "float64", 15),
    ],
)
def test_the_last_order_that_each_dtype_is_trusted_with(name, dtype, last):
    construct(name, order=last, alphabet_size=2, length=1024, dtype=dtype)
    with pytest.raises(InputError, match=f"order ≤ {last}"):
        construct(name, order=last + 1, alphabet_size=2, length=1024, dtype=dtype)


@pytest.mark.parametrize(
    "name", ["two-layer", "two-layer-qk", "two-head", "three-layer", "dyadic", "attention-only", "bayes"]
)
def test_an_order_far_beyond_every_dtype_has_a_reason_and_can_be_forced(name):
    request = {"order": 128, "alphabet_size": 2, "length": 130}
    with pytest.raises(InputError, match="needs"):
        construct(name, **request)
    assert construct(name, **request, force=True).certificate.bound == 1.0


def test_heads_need_no_bits():
    for dtype in DTYPES:
        assert construct("k-head", order=16, alphabet_size=2, length=1024, dtype=dtype).certificate.bits_needed <= 8


def test_scores_that_the_dtype_cannot_express_are_refused():
    with pytest.raises(InputError, match=r"scores up to 1e\+05, float16 ends at 6.55e\+04; use float32"):
        construct("dyadic", order=2, alphabet_size=2, length=64, dtype="float16", kappa=1e5)


def test_kappa_is_what_the_target_needs():
    loose, tight = (
        construct("dyadic", order=3, alphabet_size=2, length=100, target_error=error).certificate
        for error in (1e-2, 1e-8)
    )
    assert tight.kappa - loose.kappa == pytest.approx(math.log(1e6) / nearest_miss(7), rel=1e-9)
    assert tight.bound <= 1e-8
    assert loose.bound <= 1e-2
    with_less = construct("dyadic", order=3, alphabet_size=2, length=100, kappa=10.0, force=True).certificate
    assert with_less.kappa == 10.0
    assert with_less.bound == 1.0


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"name": "tryadic"}, "no construction 'tryadic'; did you mean dyadic?"),
        ({"order": 0}, "order is 0, must be at least 1"),
        ({"order": 64}, "order is 64, must be smaller than the length 64"),
        ({"alphabet_size": 1}, "alphabet size is 1, must be at least 2"),
        ({"order": 129, "length": 200}, "order is 129, constructions go to 128"),
        ({"alphabet_size": 513}, "alphabet size is 513, constructions take 512 symbols"),
        ({"name": "associative", "order": 1, "dimension": 9999}, "dimension is 9999, must be 1 to 8192"),
        ({"name": "disentangled", "length": 4096}, "`disentangled` would have matrices of 12294²"),
        ({"dtype": "float8"}, "dtype is 'float8', must be one of"),
        ({"target_error": 0.0}, "target error is 0.0, must be between 0 and 1"),
        ({"kappa": -1.0}, "kappa is -1.0, must be above 0"),
        ({"beta": 2.0}, "`dyadic` has no option beta; it has none"),
        ({"name": "bayes", "beta": 0.0}, "beta is 0.0, must be above 0"),
        ({"name": "bigram", "order": 2}, "order is 2, `bigram` is for order 1"),
    ],
)
def test_bad_requests_get_one_line(options, message):
    request = {"name": "dyadic", "order": 2, "alphabet_size": 2, "length": 64} | options
    with pytest.raises(InputError) as caught:
        construct(request.pop("name"), **request)
    assert str(caught.value).startswith(message)
    assert "\n" not in str(caught.value)


def test_equal_windows_are_identical_keys_and_codes_are_integers():
    order, symbols = 10, 2
    rng = np.random.default_rng(0)
    tokens = np.where(rng.random(700) < 0.1, rng.integers(0, symbols, 700), 0)
    model = construct("dyadic", order=order, alphabet_size=symbols, length=700, dtype="float32")
    trace = model.trace(tokens)
    codes = np.asarray(trace.block("window", "attention 1"))
    keys = np.asarray(trace.block("key", "mlp 1.3"))
    seen = {}
    for n in range(order, len(tokens)):
        window = tuple(tokens[n - order : n].tolist())
        expected = [sum(2**i for i in range(order) if window[order - 1 - i] == s) for s in range(symbols)]
        assert codes[n].tolist() == expected
        assert seen.setdefault(window, keys[n].tobytes()) == keys[n].tobytes()
    assert not keys[:order].any()  # gated
    assert 20 < len(seen) < 500
    # Equal keys have equal scores, wherever they stand: the products of the backend must see to that.
    weights = np.asarray(trace.attention[1])[0]
    for n in range(2 * order, len(tokens)):
        matches = [
            weights[n, i] for i in range(order, n + 1) if (tokens[i - order : i] == tokens[n - order + 1 : n + 1]).all()
        ]
        assert len(set(matches)) <= 1


@pytest.mark.parametrize("dtype", ["float16"])
def test_no_construction_computes_in_a_wider_type(dtype):
    from tests.transformer.test_model import jaxpr_dtypes

    for name in CONSTRUCTIONS:
        model = construct(name, order=1, alphabet_size=2, length=300, dtype=dtype, force=True)
        program = jax.make_jaxpr(model)(jnp.zeros(300, jnp.int32))
        floats = {found for found in jaxpr_dtypes(program.jaxpr) if jnp.issubdtype(found, jnp.floating)}
        assert floats == {DTYPES[dtype]}, name
