"""`unrolled`: what its layers write, which orders it certifies, and what it refuses."""

from __future__ import annotations

import numpy as np
import pytest

from anyorder.constructions import CONSTRUCTIONS, backend, construct, plan
from anyorder.constructions.sequences import all_sequences
from anyorder.constructions.verify import distributions, verify
from anyorder.errors import InputError
from tests import oracles_constructions as oracles

TOKENS = np.random.default_rng(3).integers(0, 3, 40)


@pytest.mark.parametrize(("heads", "group"), [(1, 1), (1, 3), (2, 2)])
def test_digits_are_the_tokens_of_the_window(heads, group):
    order, symbols = 5, 3
    made = plan("unrolled", order=order, alphabet_size=symbols, length=40, dtype="float32", heads=heads, group=group)
    trace = made.build().trace(TOKENS)
    shown = {show.name: show for step in made.steps for show in step.shows if show.name.startswith("x_(n-")}
    for offset in range(1, order + 1):
        digit = shown[f"x_(n-{offset})"]
        value = sum(factor * np.asarray(trace.block(block, digit.point)) for block, factor in digit.of)
        np.testing.assert_array_equal(value[order:], np.eye(symbols)[TOKENS[order - offset : -offset]])
    np.testing.assert_array_equal(np.asarray(trace.block("full", "mlp 1.2"))[:, 0], np.arange(40) >= order)


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


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"heads": 0}, "heads is 0, must be at least 1"),
        ({"heads": 4}, "heads is 4, must be at most the order 3"),
        ({"heads": 1.5}, "heads is 1.5, must be a whole number"),
        ({"group": 0}, "group is 0, must be 1 to 6"),
        ({"name": "unrolled-bayes", "beta": 0}, "beta is 0, must be above 0"),
        ({"name": "unrolled-bayes", "beta": float("nan")}, "beta is nan, must be a number"),
    ],
)
def test_bad_options_get_one_line(options, message):
    request = {"name": "unrolled", "order": 3, "alphabet_size": 2, "length": 64} | options
    with pytest.raises(InputError) as caught:
        plan(request.pop("name"), **request)
    assert str(caught.value).startswith(message)


def test_k_head_is_the_member_with_one_offset_a_head():
    asked = {"order": 3, "alphabet_size": 2, "length": 40, "dtype": "float32"}
    one, other = construct("k-head", **asked), construct("unrolled", **asked, heads=3)
    assert one.blocks == other.blocks
    assert not other.layers[0].mlp
    np.testing.assert_array_equal(one(TOKENS % 2), other(TOKENS % 2))


@pytest.mark.parametrize("heads", [1, 2])
def test_the_sink_counts_contexts_never_seen(heads):
    order, symbols = 4, 3
    model = construct("unrolled-bayes", order=order, alphabet_size=symbols, length=40, heads=heads, beta=0.5)
    expected = oracles.add_beta(TOKENS.tolist(), order, symbols, 0.5)
    defined = ~np.isnan(expected[:, 0])
    assert defined.sum() == 40 - order + 1
    np.testing.assert_allclose(np.asarray(model(TOKENS))[defined], expected[defined], atol=1e-12)


def test_what_is_assumed_of_the_backend_is_named_and_checked(monkeypatch):
    asked = {"order": 3, "alphabet_size": 2, "length": 32, "sequences": 4}
    found = verify("unrolled", **asked)
    assert found.passed
    assert tuple(found.assumptions) == plan("unrolled", order=3, alphabet_size=2, length=32).certificate.assumes
    assert len(found.assumptions) == 2
    monkeypatch.setitem(backend.ASSUMPTIONS, next(iter(found.assumptions)), lambda model, request: False)
    assert not verify("unrolled", **asked).passed


SMALL = {"associative"}  # promises nothing


@pytest.mark.parametrize("name", sorted(set(CONSTRUCTIONS) - SMALL))
def test_every_sequence_of_nine_tokens(name):
    order = CONSTRUCTIONS[name].largest_order or 2
    found = verify(name, order=order, alphabet_size=2, length=9, exhaustive=True)
    assert found.passed
    assert found.sequences == 512
    assert found.positions_checked > 512
    assert found.max_error <= found.bound < 1e-5


@pytest.mark.parametrize(("name", "oracle"), [("kgram", "kgram"), ("bayes", "add_beta"), ("biased", "biased")])
def test_exhaustive_counts_are_those_of_the_oracle(name, oracle):
    batch = np.concatenate(list(all_sequences(2, 7)))
    assert len({tuple(row) for row in batch.tolist()}) == 2**7
    for order in (1, 2, 3):
        found = distributions(batch, order, 2, name)
        for row, exact in zip(batch[::5].tolist(), found[::5], strict=True):
            np.testing.assert_allclose(exact, getattr(oracles, oracle)(row, order, 2), atol=1e-15)
