"""Scores of orders: chunks make no difference, sequences share counts, and the best known order is found."""

import dataclasses
import math

import numpy as np
import pytest

from anyorder import estimators
from anyorder.estimators.order_scores import growing
from tests import oracles

TOKENS = np.random.default_rng(0).integers(0, 3, 300) * np.array([1, 0, 1, 1, 0] * 60)


def test_chunks_make_no_difference():
    whole = estimators.orders(TOKENS, max_order=3, alphabet_size=3, beta=0.7)
    stream = estimators.OrderStream(3, 3)
    for part in np.split(TOKENS, [1, 2, 3, 4, 100, 101]):
        stream.feed(part)
    assert stream.report(0.7) == whole
    assert stream.positions == whole.positions == 297


def test_the_mixture_and_ctw_cost_what_their_predictors_give():
    report = estimators.orders(TOKENS, max_order=3, alphabet_size=3, beta=0.7)
    for name, bits in (("mixture", report.mixture_bits_per_symbol), ("ctw", report.ctw_bits_per_symbol)):
        chances = estimators.StreamingEstimator(3, 3, name, beta=0.7).probabilities(TOKENS)[3:]
        assert -np.log2(chances).mean() == pytest.approx(bits, rel=1e-12)
    chances = estimators.StreamingEstimator(3, 3, "bayes", beta=0.7).probabilities(TOKENS)[3:]
    assert -np.log2(chances).mean() == pytest.approx(report.orders[3].bits_per_symbol, rel=1e-12)


def test_bic_is_that_of_the_textbook():
    report = estimators.orders(TOKENS, max_order=2, alphabet_size=3)
    table = oracles.successors(TOKENS.tolist(), 299, 1, 2)
    likelihood = sum(n * math.log(n / counts.total()) for counts in table.values() for n in counts.values())
    assert report.orders[1].bic == pytest.approx(-2 * likelihood + 3 * 2 * math.log(298), rel=1e-12)


@pytest.mark.slow
def test_a_large_alphabet_and_a_growing_sequence():
    stream = estimators.OrderStream(2, 300)
    reports = [report for part in np.split(TOKENS * 100, 3) for report in growing(stream, part, 0.5)]
    assert [report.positions for report in reports] == sorted({report.positions for report in reports})
    assert 5 < len(reports) < 30
    first = estimators.orders(TOKENS[: reports[-1].positions + 2] * 100, max_order=2, alphabet_size=300)
    assert dataclasses.astuple(reports[-1]) == dataclasses.astuple(first)
