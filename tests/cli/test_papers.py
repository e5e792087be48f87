"""`anyorder claims`: its report, and its exit codes 1 and 2."""

from __future__ import annotations

import dataclasses
import json

import pytest

from anyorder.papers.two_can.claims import LEDGER, Verdict
from anyorder.papers.two_can.claims.registry import recorded

KEYS = {"id", "where", "claim", "verdict", "detail", "numbers", "recorded", "moved", "agrees", "see", "seconds"}


def test_the_command_reports_every_claim_that_was_asked_for(run):
    code, text, error = run("claims", "eq-score", "eq-query", "--json")
    report = json.loads(text)
    assert (code, error) == (0, "")
    assert set(report) == {"claims", "verdicts", "differing", "moved", "seconds"}
    assert [entry["id"] for entry in report["claims"]] == ["eq-score", "eq-query"]
    assert all(set(entry) == KEYS for entry in report["claims"])
    assert report["verdicts"] == {"holds with a correction": 2}
    assert report["differing"] == []


def test_the_command_shows_numbers_and_says_how_long_it_takes(run, monkeypatch):
    slow = {id: dataclasses.replace(record, seconds=75.0) for id, record in recorded().items()}
    monkeypatch.setattr(LEDGER, "recorded", lambda: slow)
    code, text, error = run("claims", "E9")
    assert code == 0, text
    assert error == "1 claims, about 75 CPU seconds\n"
    assert "fails: from i = 2 on" in text
    assert "P^1, P^2, P^3 of an example: 0.8, 0.7, 0.622" in text
    assert "all as on record" in text


def test_a_verdict_that_differs_from_the_record_is_exit_1(run, monkeypatch):
    wrong = {**recorded(), "eq-score": dataclasses.replace(recorded()["eq-score"], verdict=Verdict.FAILS)}
    monkeypatch.setattr(LEDGER, "recorded", lambda: wrong)
    code, text, _ = run("claims", "eq-score", "--json")
    report = json.loads(text)
    assert code == 1
    assert report["differing"] == ["eq-score"]
    assert report["claims"][0]["recorded"] == "fails"
    code, text, _ = run("claims", "eq-score")
    assert code == 1
    assert "HOLDS WITH A CORRECTION, on record: fails" in text


def test_a_number_that_moved_is_named_and_is_exit_1(run, monkeypatch):
    record = recorded()["eq-recursion"]
    numbers = {**record.numbers, "by the recursion": [0.8, 0.7, 0.6], "gone": 1}
    other = dataclasses.replace(record, numbers=numbers)
    monkeypatch.setattr(LEDGER, "recorded", lambda: {**recorded(), "eq-recursion": other})
    code, text, _ = run("claims", "E9", "--json")
    report = json.loads(text)
    assert code == 1
    assert report["differing"] == ["eq-recursion"]
    by_name = {moved["number"]: moved for moved in report["moved"]["eq-recursion"]}
    assert set(by_name) == {"by the recursion", "gone"}
    assert by_name["by the recursion"]["recorded"] == [0.8, 0.7, 0.6]
    assert by_name["by the recursion"]["measured"] == pytest.approx([0.8, 0.7, 0.65])
    code, text, _ = run("claims", "E9")
    assert "MOVED by the recursion: 0.8, 0.7, 0.65, on record 0.8, 0.7, 0.6, tolerance 0.001" in text


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["thm-two-layr"], "no claim 'thm-two-layr'; nearest are thm-two-layer,"),
        (["e4"], "nearest are E4"),
        (["zzzz"], "no claim 'zzzz'; all are in docs/claims.md"),
        (["alg-1", "--quick"], "none of alg-1 is in the quick set; drop --quick"),
        (["--results", "absent"], "--results absent contains no tables of experiments"),
    ],
)
def test_bad_input_is_one_line_and_exit_2(run, words, message):
    code, text, error = run("claims", *words)
    assert (code, text) == (2, "")
    assert message in error
    assert error.count("\n") == 1
