"""Verdicts follow from comparisons."""

from __future__ import annotations

import numpy as np
import pytest

from anyorder.papers.entry import Verdict, judge
from anyorder.papers.registry import ledgers


def test_a_verdict_follows_from_its_comparisons():
    assert judge({}, printed=True, decisive=False, note="n").verdict is Verdict.CONSISTENT
    assert judge({}, printed=True, note="n").verdict is Verdict.HOLDS
    assert judge({}, printed=np.False_, corrected=np.True_, correction="c").detail == "c"
    assert judge({}, printed=False, corrected=False, correction="c").verdict is Verdict.FAILS
    assert judge({}, printed=False, failure="f").detail == "f"
    assert judge({}, printed=False, trend=np.True_, difference="d").verdict is Verdict.TREND
    assert judge({}, printed=False, trend=True, difference="d").detail == "d"
    assert judge({}, printed=True, trend=True).verdict is Verdict.HOLDS


def test_every_verdict_names_what_refutes_the_statement():
    sentences = {"note": "n", "correction": "c", "difference": "d", "failure": "f", "refutation": "refuted by r"}
    for comparisons, sentence in (
        ({"printed": True}, "n"),
        ({"printed": False, "corrected": True}, "c"),
        ({"printed": False, "trend": True}, "d"),
        ({"printed": False}, "f"),
        ({"printed": True, "vacuous": "v"}, "v"),
    ):
        assert judge({}, **comparisons, **sentences).detail == f"{sentence}; refuted by r"
    assert judge({}, printed=True, refutation="refuted by r").detail == "refuted by r"


@pytest.mark.parametrize("paper", ["competition", "markov_to_laplace", "statistical_induction"])
def test_every_recorded_claim_of_a_neighbouring_paper_says_what_refutes_it(paper):
    recorded = ledgers()[paper].recorded()
    assert recorded
    assert [id for id, finding in recorded.items() if "refuted " not in finding.detail] == []
