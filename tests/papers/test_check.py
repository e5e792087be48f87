"""Checks of claims: the quick set and trained models against the record, and the criterion for moved numbers."""

from __future__ import annotations

import dataclasses
import json

import pytest

from anyorder.papers.check import check, read_results
from anyorder.papers.paper import RESULTS
from anyorder.papers.two_can.claims import CLAIMS, Checked, Finding, Verdict, find
from anyorder.papers.two_can.claims.registry import PARTS, recorded
from tests.papers.two_can.claims.small import DEPTH, TOKEN


@pytest.mark.parametrize("heading", PARTS)
@pytest.mark.slow
def test_quick_claims_have_the_verdicts_on_record(heading):
    quick = [claim for claim in PARTS[heading] if claim.quick]
    found = check(quick, recorded())
    assert [(entry.claim.id, entry.finding.verdict) for entry in found if not entry.agrees] == []
    for entry in found:
        assert entry.finding.numbers or entry.finding.verdict is Verdict.UNTESTABLE
        if entry.finding.verdict is not Verdict.HOLDS:
            assert entry.finding.detail, entry.claim.id
        json.dumps(entry.as_dict())


def test_claims_about_trained_models_have_the_verdicts_on_record():
    trained = [claim for claim in CLAIMS.values() if claim.experiments]
    found = check(trained, recorded(), results=read_results(RESULTS / "paper"))
    assert [(entry.claim.id, entry.finding.verdict, entry.moved) for entry in found if not entry.agrees] == []
    assert Verdict.UNMEASURED not in {entry.finding.verdict for entry in found}


def test_each_number_has_its_own_tolerance():
    claim = dataclasses.replace(CLAIMS["eq-score"], tolerances={"loose": 0.1})
    before = {"loose": 1.0, "strict": 1.0, "rounding": 1e-16, "words": ["a"], "count": 3}
    now = {"loose": 1.09, "strict": 1.002, "rounding": 3e-9, "words": ["a"], "count": 4}
    for measured, expected in ((now, ["strict", "count"]), ({**before, "loose": 1.2}, ["loose"])):
        entry = Checked(claim, Finding(Verdict.HOLDS, "", measured), Finding(Verdict.HOLDS, "", before))
        assert [moved.number for moved in entry.moved] == expected


def test_a_claim_without_a_record_differs(monkeypatch):
    (entry,) = check(find(["eq-score"]), {})
    assert not entry.agrees


def test_results_come_from_the_folder_of_reproduce(run, tmp_path):
    result = {"id": "depth", "tables": {"excess": {"caption": "…", "rows": DEPTH}}}
    (tmp_path / "depth.json").write_text(json.dumps(result))
    (tmp_path / "other.json").write_text("{}")
    (tmp_path / "token-noise").mkdir()
    (tmp_path / "token-noise" / "tables.json").write_text(json.dumps({"excess": TOKEN}))
    _, text, _ = run("claims", "tab-depth", "tab-token-noise", "tab-bits", "--results", tmp_path, "--json")
    depth, noise, bits = json.loads(text)["claims"]
    assert (depth["verdict"], noise["verdict"]) == ("holds", "holds")
    assert (bits["verdict"], bits["moved"]) == ("not measured here", [])
    way_out = "`anyorder reproduce bits --out DIR` fills it, then pass the tables in DIR with {}"
    assert bits["detail"] == way_out.format("--results")
    (bits,) = check(find(["tab-bits"]), recorded())
    assert bits.finding.detail == way_out.format("`results=`")


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("{", "is not"),
        ('{"tables": {"excess": [1]}}', "must map tables to lists of rows"),
        ('{"tables": {"other": []}}', "no table 'excess', only other"),
        ('{"tables": {"excess": [{"layers": 1}, {"layers": 2}]}}', "no column 'excess_mean', only layers"),
        (json.dumps({"tables": {"excess": DEPTH[:1]}}), "no row for 2"),
    ],
)
def test_results_that_cannot_be_read_are_one_line(run, tmp_path, content, message):
    (tmp_path / "depth.json").write_text(content)
    code, _, error = run("claims", "tab-depth", "--results", tmp_path)
    assert code == 2
    assert message in error
    assert error.count("\n") == 1
