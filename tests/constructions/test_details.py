"""What the paper says of single weights, the errata that concern constructions, biases, sinks, and counts."""

from __future__ import annotations

import dataclasses
import math
import pathlib
import re

import equinox as eqx
import jax.numpy as jnp
import numpy as np
import pytest

from anyorder.constructions import CONSTRUCTIONS, construct, exact_orders, parameters, tables
from anyorder.constructions import verify as verify_module
from anyorder.constructions.sequences import KINDS, de_bruijn_cycle, hard_sequences
from anyorder.constructions.stream import Stream
from anyorder.constructions.verify import errors, verify
from tests import oracles_constructions as oracles
from tests.constructions.test_registry import worst_error

RANDOM = np.random.default_rng(0).integers(0, 2, (2, 200))


def test_the_gate_has_the_values_of_erratum_2():
    order = 3
    trace = construct("two-layer", order=order, alphabet_size=2, length=50).trace(RANDOM[0, :50])
    gate = np.asarray(trace.block("gate", "attention 1"))[:, 0]
    expected = [1] + [0.75 * (3 ** min(n, order) + 1) for n in range(1, 50)]
    np.testing.assert_allclose(gate, expected, rtol=1e-12)


def test_the_mlp_of_theorem_3_isolates_the_oldest_token_and_forms_the_query():
    order, tokens = 4, RANDOM[0, :60]
    for name, base in (("two-layer", 3), ("dyadic", 2)):
        trace = construct(name, order=order, alphabet_size=2, length=60).trace(tokens)
        oldest = np.asarray(trace.block("oldest", "mlp 1.1"))
        query = np.asarray(trace.block("query", "mlp 1.2"))
        key = np.asarray(trace.block("key", "mlp 1.3"))
        for n in range(order, 60):
            code = sum(base**i * np.eye(2)[tokens[n - i]] for i in range(order))
            before = sum(base ** (i - 1) * np.eye(2)[tokens[n - i]] for i in range(1, order + 1))
            np.testing.assert_allclose(oldest[n], np.eye(2)[tokens[n - order]], atol=1e-12)
            np.testing.assert_allclose(query[n], oracles.unit(code), atol=1e-12)
            np.testing.assert_allclose(key[n], oracles.unit(before), atol=1e-12)


def test_the_third_mlp_matrix_as_printed_does_not_work():
    """Erratum 4: with the identity in the columns of the token the model is wrong."""
    model = construct("two-layer", order=2, alphabet_size=2, length=200)
    stream = Stream(**dict(model.blocks))
    printed = eqx.tree_at(lambda m: m.layers[0].mlp[2].weight, model, stream.map(("token", "key", 1.0)))
    assert worst_error(model, oracles.kgram, 2, RANDOM)[0] < 1e-7
    assert worst_error(printed, oracles.kgram, 2, RANDOM)[0] > 0.2


def test_key_positions_times_kappa_are_one_hot():
    """Erratum 11: kappa·(i + 1)·log 3 loses the weights 3^i that i·log 3 + kappa gives."""
    model = construct("three-layer", order=3, alphabet_size=2, length=40)
    quoted = jnp.zeros_like(model.layers[0].heads[0].key_positions)
    quoted = quoted.at[:3, 0].set(40.0 * math.log(3) * jnp.arange(1, 4))
    wrong = eqx.tree_at(lambda m: m.layers[0].heads[0].key_positions, model, quoted)
    row = np.asarray(model.trace(RANDOM[0, :40]).attention[0])[0, 20]
    np.testing.assert_allclose(row[[20, 19, 18]], np.array([1, 3, 9]) / 13, atol=1e-12)
    assert np.asarray(wrong.trace(RANDOM[0, :40]).attention[0])[0, 20, 18] > 0.999


@pytest.mark.parametrize("name", ["two-layer-qk", "two-head-qk"])
def test_the_bias_of_the_qk_variants_is_real_and_shrinks(name):
    """Erratum 7, measured: the mean distance to the k-gram falls about like 1/T."""
    order = 2
    batch = np.random.default_rng(1).integers(0, 2, (6, 1024))
    batch[:, : order + 1] = 0  # an opening that is aligned with a window
    model = construct(name, order=order, alphabet_size=2, length=1024)
    distances = []
    outputs = [np.asarray(model(tokens)) for tokens in batch]
    for first, last in ((8, 16), (64, 128), (512, 1024)):
        exact = [oracles.kgram(tokens.tolist(), order, 2) for tokens in batch]
        gaps = [np.abs(o - e)[first:last].max(axis=1) for o, e in zip(outputs, exact, strict=True)]
        distances.append(np.nanmean(gaps))
    assert distances[0] > 0.02
    assert distances[1] < distances[0] / 3
    assert distances[2] < distances[1] / 4


def test_bigram_needs_its_gate():
    tokens = np.array([[0, 1, 1, 0, 1, 0, 0, 1] * 8])
    gated = construct("bigram", order=1, alphabet_size=2, length=64)
    published = construct("bigram", order=1, alphabet_size=2, length=64, gated=False)
    assert worst_error(gated, oracles.kgram, 1, tokens)[0] < 1e-7
    assert worst_error(published, oracles.kgram, 1, tokens)[0] > 0.1
    assert worst_error(published, oracles.biased, 1, tokens)[0] < 1e-7
    assert published.certificate.estimator == "biased"


def test_the_error_of_random_embeddings_falls_with_the_dimension():
    batch = np.random.default_rng(1).integers(0, 3, (4, 64))
    mean = []
    for dimension in (64, 256, 1024):
        options = {"order": 1, "alphabet_size": 3, "length": 64, "dtype": "float32", "dimension": dimension}
        models = [construct("associative", **options, seed=seed) for seed in range(2)]
        mean.append(np.mean([np.nanmean(errors(model, batch, 1)[:, 32:]) for model in models]))
    assert mean[0] > 0.3
    assert mean[1] < 0.85 * mean[0]
    assert mean[2] < 0.75 * mean[1]


@pytest.mark.parametrize("name", ["bayes", "k-head-bayes"])
@pytest.mark.parametrize("beta", [0.5, 1.0, 3.0])
def test_the_sink_is_add_beta_everywhere(name, beta):
    order, symbols = 3, 3
    batch = hard_sequences(count=4, length=120, alphabet_size=symbols, order=order, seed=5)
    model = construct(name, order=order, alphabet_size=symbols, length=120, beta=beta)
    error, positions = worst_error(model, lambda tokens, k, s: oracles.add_beta(tokens, k, s, beta), order, batch)
    assert error < 1e-7
    assert positions == 4 * (120 - order + 1)  # contexts never seen are included
    np.testing.assert_allclose(model(batch[0])[order - 1], 1 / symbols, atol=1e-9)


def test_an_unseen_context_falls_back_to_the_longest_suffix():
    """The most recent token weighs most in `attention-only`: the nearest code agrees in the longest suffix."""
    order, symbols, length = 4, 3, 60
    model = construct("attention-only", order=order, alphabet_size=symbols, length=length)
    checked = 0
    for seed in range(3):
        tokens = np.random.default_rng(seed).integers(0, symbols, length).tolist()
        weights = np.asarray(model.trace(tokens).attention[1])[0]
        for n in np.flatnonzero(np.isnan(oracles.kgram(tokens, order, symbols)[:, 0])):
            if n < order:
                continue
            agreed = [
                next((j for j in range(order) if tokens[i - 1 - j] != tokens[n - j]), order)
                for i in range(order, n + 1)
            ]
            chosen = int(np.argmax(weights[n]))
            assert agreed[chosen - order] == max(agreed)
            checked += 1
    assert checked > 30


@pytest.mark.parametrize(("symbols", "length"), [(2, 32), (3, 100), (16, 1024)])
def test_the_papers_counts_are_those_of_our_arrays(symbols, length):
    d = 6 * symbols + 3
    ours = parameters.breakdown("two-layer", alphabet_size=symbols, length=length)
    assert ours.counted == ours.printed_total == 9 * d**2 + d * (2 * length + 2 * symbols + 9)
    theirs = parameters.breakdown("three-layer", alphabet_size=symbols, length=length)
    assert theirs.counted == theirs.sum_of_rows == 15 * d**2 + d * (3 * length + 2 * symbols + 12)
    assert theirs.printed_total == theirs.sum_of_rows - 2 * d  # erratum 6
    for row in ours.components + theirs.components:
        assert row.paper == row.counted, row


PRINTED_ONLY = {"bigram", "associative", "disentangled"}  # Table 1 counts these by rules of their own


@pytest.mark.parametrize("name", sorted(set(CONSTRUCTIONS) - PRINTED_ONLY))
def test_formulas_of_the_registry_count_arrays(name):
    k, s, t = 2, 3, 40
    model = construct(name, order=k, alphabet_size=s, length=t)
    entry = CONSTRUCTIONS[name]
    counted = parameters.account(model, t, norm_vectors=entry.norm_vectors)
    assert sum(counted.values()) == evaluated(entry.parameters, d=model.dimension, k=k, S=s, T=t)


def evaluated(formula, **values):
    """The value of a formula as people write it."""
    plain = re.sub(r"⌊(.*?)/2⌋", r"((\1)//2)", formula)
    plain = re.sub(r"⌈(.*?)/2⌉", r"((\1+1)//2)", plain)
    plain = re.sub(r"(?<=[0-9a-zA-Z)²])(?=[a-zA-Z(])", "*", plain).replace("²", "**2")
    return eval(plain, values)


def test_table_one_reports_both_counts_where_two_are_defensible():
    rows = {row.construction: row for row in parameters.table_one(order=2, alphabet_size=3, length=20)}
    wide = 3 + 20
    assert rows["disentangled"].paper == (2 + 9) * wide**2 + 20 * wide
    assert rows["disentangled"].alternative == (2 + 9) * wide**2 + 2 * 3 * wide * 3
    model = construct("disentangled", order=2, alphabet_size=3, length=20)
    assert model.output.size == 2 * 3 * wide * 3  # erratum 12: the output matrix is the tail
    assert model.layers[1].heads[0].key.shape[0] ** 2 + 2 * wide**2 == (2 + 9) * wide**2
    assert rows["bigram"].paper == 21 * 9 + 3 * 20 * 3
    assert rows["associative"].paper == 9 * 256**2 + 256 * (3 + 20)
    assert all(row.stored and row.stored > 0 for row in rows.values())
    assert parameters.table_one(order=16, alphabet_size=2, length=1024)[2].stored is None


@pytest.mark.parametrize("name", CONSTRUCTIONS)
def test_the_registry_tells_the_truth(name):
    entry = CONSTRUCTIONS[name]
    k, s, t = (1 if entry.largest_order else 3), 2, 16
    model = construct(name, order=k, alphabet_size=s, length=t)
    assert ", ".join(str(len(layer.heads)) for layer in model.layers) == entry.heads.replace("k", str(k))
    assert len(model.layers) == entry.layers
    if entry.dimension != "any":
        assert model.dimension == evaluated(entry.dimension, k=k, S=s, T=t)
    depth, width = entry.mlp or ("0", "0")
    found = [len(layer.mlp) for layer in model.layers if layer.mlp] or [0]
    assert found == [evaluated(part, k=k) for part in depth.split(", ")]
    widest = max((mlp.weight.shape[0] for layer in model.layers for mlp in layer.mlp[::2]), default=0)
    assert widest == evaluated(width, d=model.dimension, S=s)
    assert (model.certificate is None) == (entry.exactness == "approximate")
    if model.blocks:
        assert sum(width for _, width in model.blocks) == model.dimension


def test_verify_reports_what_was_promised_and_found():
    found = verify("dyadic", order=3, alphabet_size=4, length=128, dtype="float32", sequences=4)
    assert dataclasses.asdict(found) | {"max_error": 0, "positions_checked": 0, "parameters": 0} == {
        "construction": "dyadic",
        "order": 3,
        "alphabet_size": 4,
        "length": 128,
        "dtype": "float32",
        "layers": 2,
        "heads": (1, 1),
        "dimension": 27,
        "parameters": 0,
        "kappa": pytest.approx(1536, rel=0.01),
        "margin": pytest.approx(0.013606, rel=1e-4),
        "bits_needed": 10,
        "mantissa_bits": 24,
        "bound": pytest.approx(3.4e-7, rel=0.1),
        "max_error": 0,
        "positions_checked": 0,
        "passed": True,
        "sequences": 4,
        "exhaustive": False,
        "assumptions": {"equal keys get bit-equal scores": True},
    }
    assert 0 < found.max_error <= found.bound
    assert 100 < found.positions_checked < 4 * 128


def test_verify_fails_where_the_error_exceeds_the_bound(monkeypatch):
    monkeypatch.setattr(verify_module, "errors", lambda *_, **options: np.array([[np.nan, 1e-3]]))
    found = verify("dyadic", order=2, alphabet_size=2, length=32)
    assert not found.passed
    assert found.max_error == 1e-3
    assert found.positions_checked == 1


def test_an_output_that_is_no_number_is_an_error():
    model = construct("bigram", order=1, alphabet_size=2, length=32)
    broken = eqx.tree_at(lambda m: m.output, model, model.output * jnp.nan)
    assert np.nanmax(errors(broken, RANDOM[:, :32], 1)) == np.inf


@pytest.mark.parametrize(("name", "dtype", "order"), [("dyadic", "float32", 10), ("attention-only", "float32", 6)])
def test_exact_orders_on_file_are_those_that_measure(name, dtype, order):
    table = exact_orders.measured()
    row = table[name][dtype]
    assert row.exact >= order  # what the certificate trusts
    assert exact_orders.worst_error(name, row.exact, 2, row.length, dtype) <= exact_orders.TOLERANCE
    assert exact_orders.worst_error(name, row.exact + 3, 2, row.length, dtype) > exact_orders.TOLERANCE


def test_the_tables_of_the_docs_are_those_of_the_registry():
    for page in (pathlib.Path(__file__).parents[2] / "docs").glob("*.md"):
        text = page.read_text(encoding="utf-8")
        assert tables.regenerated(text) == text, f"{page.name}: python -m benchmarks.exact_orders --docs"


def test_no_trusted_order_is_above_the_measured_one():
    for row in exact_orders.precision_table():
        for dtype, found in row.measured.items():
            assert found is None or row.certified[dtype] <= found.resolved, (row.label, dtype)


@pytest.mark.parametrize(("symbols", "order"), [(2, 1), (2, 5), (3, 3), (4, 2)])
def test_a_de_bruijn_cycle_has_every_word_once(symbols, order):
    cycle = de_bruijn_cycle(symbols, order).tolist()
    assert len(cycle) == symbols**order
    around = cycle + cycle[: order - 1]
    assert len({tuple(around[i : i + order]) for i in range(len(cycle))}) == symbols**order


def test_hard_sequences_come_from_their_seed():
    options = {"count": 8, "length": 100, "alphabet_size": 3, "order": 3}
    first, again, other = (hard_sequences(**options, seed=seed) for seed in (1, 1, 2))
    np.testing.assert_array_equal(first, again)
    assert (first != other).any(axis=1).all()
    assert first.min() >= 0
    assert first.max() <= 2
    sparse = first[list(KINDS).index("sparse")]
    assert np.bincount(sparse).max() > 75
