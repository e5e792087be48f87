"""The streaming estimator against its definitions, for all sizes of chunks, storages and hashes."""

import contextlib
import re
import tracemalloc
from collections import Counter, defaultdict

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from anyorder.errors import InputError
from anyorder.estimators import counters, streaming
from anyorder.estimators.streaming import StreamingEstimator
from tests import oracles

ESTIMATORS = ("kgram", "bayes", "bag", "biased", "backoff")  # of one order; the others have separate tests
SYMBOLS = (2, 3, 4, 15, 16, 256)
STORAGE = {
    "as it comes": {},
    "hashed keys": {"_KEY_BITS": 0},
    "all hashes collide": {"_KEY_BITS": 0, "_HASH_BASE": 0},
    "permutations collide": {"_KEY_BITS": 0, "_HASH_BASE": 1},
    "pairs": {"_DENSE_SYMBOLS": 1},
    "pairs and colliding hashes": {"_DENSE_SYMBOLS": 1, "_KEY_BITS": 0, "_HASH_BASE": 0},
    "short slices": {"_SLICE": 3},
}


@contextlib.contextmanager
def storage(name):
    with pytest.MonkeyPatch.context() as patch:
        for attribute, value in STORAGE[name].items():
            patch.setattr(streaming if hasattr(streaming, attribute) else counters, attribute, value)
        yield


@st.composite
def sequences(draw, symbols, max_length=60):
    """Random, constant, periodic, or random over few of many symbols; all with some unseen contexts."""
    token = st.integers(0, symbols - 1)
    kind = draw(st.sampled_from(["random", "constant", "periodic", "few", "runs"]))
    if kind == "random":
        return draw(st.lists(token, max_size=max_length))
    length = draw(st.integers(0, max_length))
    if kind == "constant":
        return [draw(token)] * length
    if kind == "periodic":
        period = draw(st.lists(token, min_size=1, max_size=6))
        return (period * length)[:length]
    few = draw(st.lists(token, min_size=2, max_size=3))
    if kind == "few":
        return draw(st.lists(st.sampled_from(few), min_size=length, max_size=length))
    return [few[0]] * length + draw(st.lists(st.sampled_from(few), max_size=20))


@pytest.mark.parametrize("estimator", ESTIMATORS)
@given(st.sampled_from(SYMBOLS), st.integers(1, 6), st.sampled_from(sorted(STORAGE)), st.data())
@settings(max_examples=80, deadline=None)
def test_equals_the_definitions_in_any_chunks(estimator, symbols, order, store, data):
    x = data.draw(sequences(symbols))
    beta = data.draw(st.sampled_from([1.0, 0.5, 0.3]))
    expected = np.reshape(oracles.distributions(x, order, symbols, estimator, beta), (len(x), symbols))
    with storage(store):
        stream = StreamingEstimator(order, symbols, estimator, beta=beta)
        while stream.seen < len(x):
            begin = stream.seen
            chunk = x[begin : begin + data.draw(st.integers(0, len(x)))]
            assigned = [expected[n - 1, x[n]] if n else np.nan for n in range(begin, begin + len(chunk))]
            method = data.draw(st.sampled_from(["distributions", "probabilities", "step"]))
            if method == "distributions":
                got, wanted = stream.distributions(chunk), expected[begin : begin + len(chunk)]
            elif method == "probabilities":
                got, wanted = stream.probabilities(np.array(chunk, dtype=np.int64)), assigned
            else:
                steps = [stream.step(token) for token in chunk]
                got, wanted = np.array([chance for chance, _ in steps]), assigned
                rows = np.reshape([row for _, row in steps], (len(chunk), symbols))
                np.testing.assert_allclose(rows, expected[begin : begin + len(chunk)], rtol=1e-15, atol=0)
            assert got.dtype == np.float64
            np.testing.assert_allclose(got, wanted, rtol=1e-15, atol=0)
            assert stream.seen == begin + len(chunk)
    if estimator in ("kgram", "bayes"):
        assert stream.contexts == len({tuple(x[i - order : i]) for i in range(order, len(x))})


@pytest.mark.parametrize("estimator", ESTIMATORS)
@pytest.mark.parametrize("store", STORAGE)
def test_equals_the_definitions_on_random_sequences(estimator, store):
    random = np.random.default_rng(7)
    for order, symbols in [(1, 2), (2, 3), (4, 2), (5, 4), (3, 16)]:
        x = random.integers(0, min(symbols, 5), 100).tolist()
        with storage(store):
            got = StreamingEstimator(order, symbols, estimator).distributions(x)
        np.testing.assert_allclose(got, oracles.distributions(x, order, symbols, estimator), rtol=1e-15)


def bumpy(length, symbols, seed):
    """A noisy copy of its own past, so that contexts of every order occur once, twice and often."""
    random = np.random.default_rng(seed)
    x = np.tile(random.integers(0, symbols, 1 + length // 7), 7)[:length]
    changed = random.random(length) < 0.01
    x[changed] = random.integers(0, symbols, np.count_nonzero(changed))
    return x


def plain_probabilities(x, order, beta, symbols, key):
    """A plain dictionary of counters; also returns the number of contexts."""
    counters = defaultdict(Counter)
    chances = [np.nan] * order
    for n in range(order, len(x)):
        counter = counters[key(x[n - order : n])]
        total = counter.total() + beta * symbols
        chances.append((counter[x[n]] + beta) / total if total else np.nan)
        counter[x[n]] += 1
    return chances, len(counters)


@pytest.mark.slow
@pytest.mark.parametrize("estimator", ["kgram", "bayes", "bag"])
@pytest.mark.parametrize(("order", "symbols"), [(3, 4), (12, 4), (40, 4), (1, 300), (2, 256), (64, 256)])
def test_long_streams_equal_a_dictionary_of_counters(estimator, order, symbols):
    x = bumpy(30_000, symbols, seed=order)
    beta = 0.5 if estimator == "bayes" else 0.0
    expected, contexts = plain_probabilities(
        x.tolist(), order, beta, symbols, lambda w: tuple(sorted(w)) if estimator == "bag" else tuple(w)
    )
    stream = StreamingEstimator(order, symbols, estimator, beta=0.5)
    got = np.concatenate([stream.probabilities(chunk) for chunk in np.split(x, [1, 5000, 5001, 20_000])])
    np.testing.assert_allclose(got, expected, rtol=1e-15, atol=0)
    assert stream.contexts == contexts
    assert np.isfinite(got).mean() > 0.1
    assert np.nanmin(got) < np.nanmax(got)


@pytest.mark.slow
def test_order_64_over_256_symbols():
    x = bumpy(200_000, 256, seed=0)
    expected, contexts = plain_probabilities(x.tolist(), 64, 0.0, 256, tuple)
    stream = StreamingEstimator(64, 256)
    np.testing.assert_array_equal(stream.probabilities(x), expected)
    assert stream.contexts == contexts > 100_000
    assert stream.nbytes < 400 * contexts


def test_backoff_of_order_64_equals_a_dictionary_for_each_order():
    x = bumpy(4000, 256, seed=1).tolist()
    y = x + x[:1000]
    counters = [defaultdict(Counter) for _ in range(65)]
    stream = StreamingEstimator(64, 256, "backoff")
    got = stream.probabilities(y)
    for n, token in enumerate(y):
        suffixes = [(counters[j], tuple(y[n - j : n])) for j in range(min(n, 64) + 1)]
        seen = [counter[suffix] for counter, suffix in suffixes if suffix in counter]
        if seen:
            assert got[n] == seen[-1][token] / seen[-1].total()
        for counter, suffix in suffixes:
            counter[suffix][token] += 1
    assert np.isnan(got[0])
    assert stream.contexts < 2 * len(y)


def test_the_last_symbol_of_the_largest_alphabet():
    x = [65535, 0, 65535, 0, 65535]
    for estimator in ESTIMATORS:
        stream = StreamingEstimator(1, 65536, estimator)
        expected = oracles.distribution(x, 4, 1, 65536, estimator)
        np.testing.assert_allclose(stream.distributions(x)[-1], expected, rtol=1e-15)


@pytest.mark.parametrize("estimator", ESTIMATORS)
@pytest.mark.parametrize(("order", "symbols"), [(12, 4), (64, 256)])
def test_memory_follows_contexts_and_not_length(estimator, order, symbols):
    stream = StreamingEstimator(order, symbols, estimator)
    x = np.tile(np.arange(10) % symbols, 100_000)
    for chunk in np.array_split(x, 4):
        stream.probabilities(chunk)
    assert stream.seen == 1_000_000
    # The k-gram has one context per phase; the others add contexts of the first k positions.
    assert stream.contexts <= 10 + 2 * order
    assert stream.nbytes < 200_000


@pytest.mark.parametrize(
    ("estimator", "least", "most"), [("kgram", 32, 65), ("bayes", 32, 65), ("mixture", 50, 160), ("ctw", 50, 160)]
)
@pytest.mark.parametrize(("order", "symbols"), [(6, 4), (10, 4), (12, 2), (4, 15)])
def test_bytes_per_context_are_those_of_the_docs(estimator, least, most, order, symbols):
    stream = StreamingEstimator(order, symbols, estimator)
    stream.probabilities(np.random.default_rng(0).integers(0, symbols, 100_000))
    assert least <= stream.nbytes / stream.contexts <= most


@pytest.mark.parametrize("estimator", ESTIMATORS)
def test_nbytes_is_what_is_held(estimator):
    x = bumpy(100_000, 256, seed=3)
    StreamingEstimator(5, 256, estimator).probabilities(x[:100])  # memory kept by compilation is not counted
    tracemalloc.start()
    try:
        stream = StreamingEstimator(5, 256, estimator)
        stream.probabilities(x)
        held = tracemalloc.get_traced_memory()[0]
    finally:
        tracemalloc.stop()
    assert 0.98 * held < stream.nbytes <= held


@pytest.mark.parametrize("estimator", ESTIMATORS)
def test_empty_chunks_change_nothing(estimator):
    stream = StreamingEstimator(2, 3, estimator)
    for x in ([], np.empty(0, dtype=np.int64), []):
        assert stream.probabilities(x).shape == (0,)
        assert stream.distributions(x).shape == (0, 3)
        stream.probabilities([0, 1])
    assert stream.seen == 6


def fed(order=1, symbols=4, **settings):
    stream = StreamingEstimator(order, symbols, **settings)
    stream.probabilities([0, 1, 2])
    return stream


@pytest.mark.parametrize(
    ("call", "line"),
    [
        (lambda: StreamingEstimator(0, 2), "order is 0, must be at least 1; pass `order=1` or more"),
        (lambda: StreamingEstimator(1, 1), "alphabet size is 1, must be at least 2"),
        (
            lambda: StreamingEstimator(1, 65537),
            "alphabet size is 65537, must be at most 65536",
        ),
        (
            lambda: StreamingEstimator(1, 2, "trigram"),
            "no estimator 'trigram'; did you mean kgram?",
        ),
        (lambda: StreamingEstimator(1, 2, beta=0.0), "beta is 0.0, must be at least 1e-09"),
        (
            lambda: StreamingEstimator(1, 2, beta=np.nan),
            "beta is nan, must be a number",
        ),
        (
            lambda: StreamingEstimator(1, 2, beta=np.inf),
            "beta is inf, must be at most 1e+09",
        ),
        (
            lambda: StreamingEstimator(1, 4).probabilities([0, 4]),
            "the sequence has token 4 at position 1, must be 0 to 3; ",
        ),
        (
            lambda: fed().distributions([0, 1, 9]),
            "the chunk that begins at position 3 has token 9 at position 2, must be 0 to 3; ",
        ),
        (
            lambda: fed().probabilities([0, -1]),
            "the chunk that begins at position 3 has token -1 at position 1, must be 0 to 3; ",
        ),
        (
            lambda: fed().probabilities(np.zeros((2, 3), dtype=np.int64)),
            "the chunk has shape (2, 3), must be one sequence (length,); feed one row",
        ),
        (
            lambda: fed().probabilities(np.array([0.0, 1.0])),
            "the chunk contains float64 values, tokens are integers; convert it",
        ),
    ],
)
def test_what_cannot_be_is_refused_in_one_line(call, line):
    with pytest.raises(InputError, match="^" + re.escape(line)) as caught:
        call()
    assert "\n" not in str(caught.value)


def test_counts_never_overflow():
    stream = fed()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(streaming, "_LONGEST_STREAM", 4)
        stream.probabilities([3])
        line = "the stream would have 5 tokens, must be at most 4; begin a new estimator"
        with pytest.raises(InputError, match="^" + re.escape(line) + "$"):
            stream.probabilities([0])


def test_a_refused_chunk_leaves_no_trace():
    stream, other = fed(), fed()
    with pytest.raises(InputError):
        stream.probabilities([0, 1, 9])
    assert (stream.seen, stream.contexts) == (other.seen, other.contexts)
    np.testing.assert_array_equal(stream.distributions([0, 1, 0]), other.distributions([0, 1, 0]))


def test_copies_of_counts_have_room():
    for many in range(1, 60):
        # Many symbols followed 0 1. After 2 1 the edge of 1 splits and the counts of all of them are copied.
        x = [token for symbol in range(many) for token in (0, 1, 3 + symbol)] + [2, 1, 2]
        stream = StreamingEstimator(2, 256, "backoff")
        for token in x:
            stream.probabilities([token])
            counter = stream._counter
            assert all(used <= store.room for used, store in zip(counter.used, counter.stores, strict=True))
        expected = oracles.distribution([*x, 1], len(x), 2, 256, "backoff")
        np.testing.assert_array_equal(stream.distributions([1]), [expected])
