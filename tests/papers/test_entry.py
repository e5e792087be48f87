"""Verdicts follow from comparisons."""

from __future__ import annotations

import numpy as np
import pytest

from anyorder.papers.check import check, read_results
from anyorder.papers.entry import Verdict, judge
from anyorder.papers.registry import ledgers, papers
from anyorder.sweeps.analysis import Spread, spread


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
        ({"printed": True, "unmeasured": "u"}, "u"),
    ):
        assert judge({}, **comparisons, **sentences).detail == f"{sentence}; refuted by r"
    assert judge({}, printed=True, refutation="refuted by r").detail == "refuted by r"


NEIGHBOURS = ["competition", "markov_to_laplace", "statistical_induction"]


@pytest.mark.parametrize("paper", NEIGHBOURS)
@pytest.mark.parametrize("seeds", [1, 4])
def test_nothing_is_judged_on_fewer_than_five_seeds(paper, seeds):
    def fewer(cell):
        return spread((cell.seeds or [])[:seeds]) if isinstance(cell, Spread) else cell

    results = {
        id: {name: [{key: fewer(cell) for key, cell in row.items()} for row in rows] for name, rows in tables.items()}
        for id, tables in read_results(papers()[paper].results_folder).items()
    }
    ledger = ledgers()[paper]
    found = {one.claim.id: one.finding for one in check(ledger.claims.values(), ledger.recorded(), results=results)}
    found.pop("certified-beside", None)  # a construction
    assert {finding.verdict for finding in found.values()} == {Verdict.UNMEASURED}
    assert all(f"{seeds} seeds, the rules require 5; refuted" in finding.detail for finding in found.values())


@pytest.mark.parametrize("paper", NEIGHBOURS)
def test_every_recorded_claim_of_a_neighbouring_paper_says_what_refutes_it(paper):
    recorded = ledgers()[paper].recorded()
    assert recorded
    assert [id for id, finding in recorded.items() if "refuted " not in finding.detail] == []
