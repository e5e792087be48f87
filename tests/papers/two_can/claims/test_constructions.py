"""Theorems about constructions fail with their construction."""

import dataclasses

from anyorder.papers.check import check
from anyorder.papers.entry import Verdict
from anyorder.papers.two_can.claims import constructions, find
from anyorder.papers.two_can.claims.registry import recorded


def test_a_construction_that_errs_fails_its_theorem(monkeypatch):
    honest = constructions.verified

    def wrong(name, order, symbols):
        return dataclasses.replace(honest("dyadic", 1, 2), alphabet_size=symbols, max_error=0.4, passed=False)

    monkeypatch.setattr(constructions, "verified", wrong)
    (entry,) = check(find(["thm-two-layer"]), recorded())
    assert entry.finding.verdict is Verdict.FAILS
    assert not entry.agrees
