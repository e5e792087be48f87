"""Streams of unknown order against the same predictors at all positions, and against sums over orders and trees."""

from fractions import Fraction

import numpy as np
import pytest

from anyorder.estimators import counters
from anyorder.estimators.counters import Paths
from anyorder.estimators.registry import ESTIMATORS
from anyorder.estimators.streaming import StreamingEstimator
from tests import oracles

LENGTH = 200
CASES = [(0, 2), (3, 2), (4, 3)]
TOKENS = {size: np.tile(np.random.default_rng(size).integers(0, size, 23), 9)[:LENGTH] for size in (2, 3, 20)}
for tokens in TOKENS.values():
    tokens[::17] = 0


@pytest.fixture(params=["dense", "pairs"], autouse=True)
def storage(request, monkeypatch):
    if request.param == "pairs":
        monkeypatch.setattr(counters, "_DENSE_SYMBOLS", 1)


@pytest.mark.parametrize("name", ["mixture", "ctw"])
@pytest.mark.parametrize(("order", "size"), CASES)
def test_a_stream_equals_all_positions_at_once_in_any_chunks(name, order, size):
    tokens = TOKENS[size]
    expected = ESTIMATORS[name].predict(tokens, order=order, alphabet_size=size, beta=0.7)
    assigned = np.take_along_axis(np.asarray(expected.probabilities)[:-1], tokens[1:, None], axis=1)[:, 0]
    rows = StreamingEstimator(order, size, name, beta=0.7).distributions(tokens)
    np.testing.assert_allclose(rows, expected.probabilities, rtol=1e-12)
    stream = StreamingEstimator(order, size, name, beta=0.7)
    parts = np.split(tokens, [1, 2, 50, 51, 130])
    chances = np.concatenate([stream.probabilities(part) for part in parts])
    np.testing.assert_allclose(chances[max(order, 1) :], assigned[max(order, 1) - 1 :], rtol=1e-12)
    assert np.isnan(chances[:order]).all()
    np.testing.assert_allclose(stream.posterior, expected.posterior[-1], atol=1e-13)
    longer = StreamingEstimator(order, size, name, beta=0.7).distributions(np.append(tokens, 1))
    np.testing.assert_allclose(stream.step(1)[1], longer[-1], rtol=1e-12)
    windows = [{tuple(tokens[i - k : i]) for i in range(order, LENGTH)} for k in range(order + 1)]
    assert stream.contexts - sum(map(len, windows)) in range(order + 1)  # the last step may have met new ones


def test_large_alphabets_sum_to_one():
    rows = StreamingEstimator(2, 20, "ctw").distributions(TOKENS[20])[1:]
    np.testing.assert_allclose(rows.sum(axis=1), 1, rtol=1e-12)


def test_before_a_full_context_there_is_no_posterior():
    stream = StreamingEstimator(2, 2, "ctw")
    assert stream.posterior is None
    stream.probabilities([0, 1])
    assert stream.posterior.tolist() == [0.5, 0.25, 0.25]
    assert StreamingEstimator(1, 2).posterior is None


@pytest.mark.parametrize("beta", [Fraction(1), Fraction(1, 2)])
def test_marginals_are_the_sums_over_orders_and_over_trees(beta):
    size, order, tokens = 2, 3, TOKENS[2][:24]
    paths = Paths(order, size, None, kind="counts")
    stream = np.append(np.zeros(order), tokens).astype(np.uint8)
    paths.feed(stream, 0, np.empty(0), np.empty((0, size)))
    evidence, likelihood, weighted = paths.marginals(float(beta))
    exact = [oracles.evidence(tokens.tolist(), 23, k, order, size, beta) for k in range(order + 1)]
    np.testing.assert_allclose(evidence, [float(np.log(float(value))) for value in exact], rtol=1e-13)
    trees = 0
    for leaves, weight in oracles.trees(order, size):
        table = oracles.successors(tokens.tolist(), 23, order, order)
        shorter = {leaf: oracles.Counter() for leaf in leaves}
        for context, counts in table.items():
            shorter[next(leaf for leaf in leaves if context[order - len(leaf) :] == leaf)] += counts
        trees += weight * np.prod([oracles.marginal(counts, size, beta) for counts in shorter.values()])
    assert weighted == pytest.approx(np.log(float(trees)), rel=1e-13)
    frequencies = [
        sum(times * np.log(times / counts.total()) for times in counts.values())
        for counts in oracles.successors(tokens.tolist(), 23, 2, order).values()
    ]
    assert likelihood[2] == pytest.approx(sum(frequencies), rel=1e-13)
    assert paths.nodes.tolist() == [len({tuple(tokens[i - k : i]) for i in range(order, 24)}) for k in range(order + 1)]


FIRST, SECOND = [0, 1, 1, 0, 1], [1, 0, 0, 1, 1, 0]


@pytest.mark.parametrize("name", ESTIMATORS)
def test_sequences_share_counts_and_no_window_crosses(name):
    order = 2
    stream = StreamingEstimator(order, 2, name)
    stream.probabilities(FIRST)
    stream.begin_sequence()
    rows = stream.distributions(SECOND)
    together = {k: oracles.Counter() for k in range(order + 1)}
    for k in together:
        for sequence in (FIRST, SECOND):
            for i in range(order, len(sequence)):
                together[k][tuple(sequence[i - k : i]), sequence[i]] += 1
    counts = np.array([together[order][tuple(SECOND[-order:]), s] for s in range(2)])
    assert counts.sum() > 0
    if name in ("kgram", "biased", "backoff"):
        np.testing.assert_allclose(rows[-1], counts / counts.sum())
    elif name == "bayes":
        np.testing.assert_allclose(rows[-1], (counts + 1) / (counts.sum() + 2))
    elif name == "mixture":
        evidence = []
        for k in together:
            table = {}
            for (context, symbol), times in together[k].items():
                table.setdefault(context, oracles.Counter())[symbol] = times
            evidence.append(np.prod([float(oracles.marginal(one, 2, Fraction(1))) for one in table.values()]))
        np.testing.assert_allclose(stream.posterior, np.array(evidence) / sum(evidence))
    assert np.isnan(rows[0]).all() == (name != "backoff")
