"""Verdicts follow from tables: each statement holds on an ideal table and is refuted by one number."""

import numpy as np
import pytest

from anyorder.papers.entry import Verdict
from anyorder.papers.markov_to_laplace import claims
from anyorder.papers.markov_to_laplace.experiments import CERTIFIED, MAMBA, ONE, TWO
from anyorder.sweeps.analysis import spread


def row(model, order, taps, share):
    around = spread([share * factor for factor in (0.98, 0.99, 1.0, 1.01, 1.02)])
    gap = spread([0.0]) if model == CERTIFIED else around
    return {"model": model, "order": order, "taps": taps, "share": around, "gap": gap}


def ideal():
    orders = (1, 2, 3)
    rows = [row(MAMBA, k, w, 0.02 if w > k else 0.8) for k in orders for w in {1, k, k + 1}]
    rows += [row(ONE, k, None, 0.7) for k in (1, 2)] + [row(TWO, k, None, 0.01) for k in (1, 2)]
    return [*rows, *(row(CERTIFIED, k, k + 1, 0.0) for k in orders)]


def replaced(model, order, taps, share):
    return {"window": [
        row(model, order, taps, share) if (one["model"], one["order"], one["taps"]) == (model, order, taps) else one
        for one in ideal()
    ]}  # fmt: skip


STATEMENTS = {
    "learns_smoothing": ((MAMBA, 3, 4, 0.06),),
    "window_threshold": ((MAMBA, 3, 4, 0.06), (MAMBA, 2, 2, 0.04)),
    "needs_convolution": ((MAMBA, 2, 1, 0.2),),
    "attention_needs_two": ((ONE, 1, None, 0.2), (TWO, 2, None, 0.06)),
}


@pytest.mark.parametrize("name", STATEMENTS)
def test_one_number_refutes_a_statement(name):
    measure = getattr(claims, name).measure
    assert measure({"window": ideal()}).verdict == Verdict.HOLDS
    for changed in STATEMENTS[name]:
        assert measure(replaced(*changed)).verdict == Verdict.FAILS


def test_a_short_window_that_neither_learns_nor_misses_leaves_the_trend():
    for share in (0.06, 0.2):
        assert claims.window_threshold.measure(replaced(MAMBA, 2, 2, share)).verdict == Verdict.TREND


def test_an_order_or_a_model_that_is_missing_is_not_passed_over():
    short = {"window": [one for one in ideal() if one["order"] < 3]}
    for claim in (claims.learns_smoothing, claims.window_threshold, claims.needs_convolution):
        assert claim.measure(short).verdict == Verdict.UNMEASURED
    alone = {"window": [one for one in ideal() if one["model"] != TWO]}
    assert claims.attention_needs_two.measure(alone).verdict == Verdict.UNMEASURED


def test_the_certified_recurrence_is_held_to_rounding():
    rows = ideal()
    assert claims.certified_beside.measure({"window": rows}).verdict == Verdict.HOLDS
    rows[-1]["gap"] = spread([1e-6])
    assert claims.certified_beside.measure({"window": rows}).verdict == Verdict.FAILS


@pytest.mark.parametrize(
    ("learnt", "verdict"),
    [((0.5, 1.02, 2.1), "holds"), ((0.9, 1.0, 2.1), "trend holds, values differ"), ((2.0, 1.0, 0.5), "fails")],
)
def test_beta_is_judged_by_its_interval(learnt, verdict):
    rows = [
        {"order": 1, "prior_beta": prior, "learnt_beta": spread(one * np.linspace(0.99, 1.01, 5))}
        for prior, one in zip((0.5, 1.0, 2.0), learnt, strict=True)
    ]
    assert claims.adds_beta.measure({"beta": rows}).verdict == verdict
