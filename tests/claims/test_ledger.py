"""The ledger of claims: the quick set against the record, the page, the command, and verdicts from small tables."""

from __future__ import annotations

import dataclasses
import json
import pathlib
import re

import numpy as np
import pytest

from anyorder.claims import CLAIMS, check, constructions, find, ledger, measures, registry
from anyorder.claims.entry import Verdict, judge
from anyorder.claims.registry import PARTS, recorded
from anyorder.constructions import construct
from tests import oracles_constructions as oracles

ROOT = pathlib.Path(__file__).parents[2]


@pytest.mark.parametrize("heading", PARTS)
def test_quick_claims_have_the_verdicts_on_record(heading):
    quick = [claim for claim in PARTS[heading] if claim.quick]
    found = check(quick, recorded())
    assert [(entry.claim.id, entry.finding.verdict) for entry in found if not entry.agrees] == []
    for entry in found:
        assert entry.finding.numbers or entry.finding.verdict is Verdict.UNTESTABLE
        if entry.finding.verdict is not Verdict.HOLDS:
            assert entry.finding.detail, entry.claim.id
        json.dumps(entry.as_dict())


def test_the_page_is_that_of_the_record():
    assert (ROOT / "docs" / "claims.md").read_text(encoding="utf-8") == ledger.page()


def test_every_claim_is_on_record_and_every_erratum_is_a_claim():
    assert set(recorded()) == set(CLAIMS)
    assert sum(map(len, PARTS.values())) == len(CLAIMS)
    numbered = re.findall(r"^\| (E\d+) \|", (ROOT / "docs" / "errata.md").read_text(encoding="utf-8"), re.MULTILINE)
    assert len(numbered) >= 20
    assert [entry.id for entry in PARTS["Errata"]] == numbered
    quick = sum(recorded()[claim.id]["seconds"] for claim in CLAIMS.values() if claim.quick)
    assert quick < 120


def test_a_verdict_follows_from_its_comparisons():
    assert judge({}, printed=True, note="n").verdict is Verdict.HOLDS
    assert judge({}, printed=np.False_, corrected=np.True_, correction="c").detail == "c"
    assert judge({}, printed=False, failure="f").verdict is Verdict.FAILS


def test_a_construction_that_errs_fails_its_theorem(monkeypatch):
    honest = constructions.verified

    def wrong(name, order, symbols):
        return dataclasses.replace(honest("dyadic", 1, 2), alphabet_size=symbols, max_error=0.4, passed=False)

    monkeypatch.setattr(constructions, "verified", wrong)
    (entry,) = check(find(["thm-two-layer"]), recorded())
    assert entry.finding.verdict is Verdict.FAILS
    assert not entry.agrees


def test_the_index_sets_are_those_that_the_k_gram_counts():
    tokens = np.random.default_rng(0).integers(0, 2, 40)
    tokens[-1] = 1  # both symbols occur
    given = measures.frequencies(measures.matches(tokens, 2, range(2)), tokens)
    np.testing.assert_allclose(given, oracles.kgram(tokens.tolist(), 2, 2), atol=1e-12)


def test_the_second_reading_of_definition_three_computes_the_k_gram():
    tokens = np.random.default_rng(1).integers(0, 2, 30)
    model = construct("two-head", order=2, alphabet_size=2, length=30)
    exact = np.asarray(oracles.kgram(tokens.tolist(), 2, 2))
    defined = ~np.isnan(exact[:, 0])
    np.testing.assert_allclose(measures.definition_three(model, tokens)[defined], exact[defined], atol=1e-6)


def test_the_nearest_codes_are_found_among_all_pairs():
    vectors = measures.codes(3, 3)
    units = vectors / np.linalg.norm(vectors, axis=1, keepdims=True)
    pairs = [np.linalg.norm(a - b) for i, a in enumerate(units) for b in units[:i]]
    assert measures.nearest(vectors) == pytest.approx(min(pairs), rel=1e-12)


KEYS = {"id", "where", "claim", "verdict", "detail", "numbers", "recorded", "agrees", "seconds"}


def test_the_command_reports_every_claim_that_was_asked_for(run):
    code, text, error = run("claims", "eq-score", "eq-query", "--json")
    report = json.loads(text)
    assert (code, error) == (0, "")
    assert set(report) == {"claims", "verdicts", "differing", "seconds"}
    assert [entry["id"] for entry in report["claims"]] == ["eq-score", "eq-query"]
    assert all(set(entry) == KEYS for entry in report["claims"])
    assert report["verdicts"] == {"holds with a correction": 2}
    assert report["differing"] == []


def test_the_command_shows_numbers_and_says_how_long_it_takes(run, monkeypatch):
    slow = {id: {**record, "seconds": 75.0} for id, record in recorded().items()}
    monkeypatch.setattr(registry, "recorded", lambda: slow)
    code, text, error = run("claims", "E9")
    assert code == 0
    assert error == "1 claims, about 75 CPU seconds\n"
    assert "fails: from i = 2 on" in text
    assert "P^1, P^2, P^3 of an example: 0.8, 0.7, 0.622" in text
    assert "all as on record" in text


def test_a_verdict_that_differs_from_the_record_is_exit_1(run, monkeypatch):
    wrong = {**recorded(), "eq-score": {**recorded()["eq-score"], "verdict": "fails"}}
    monkeypatch.setattr(registry, "recorded", lambda: wrong)
    code, text, _ = run("claims", "eq-score", "--json")
    report = json.loads(text)
    assert code == 1
    assert report["differing"] == ["eq-score"]
    assert report["claims"][0]["recorded"] == "fails"
    code, text, _ = run("claims", "eq-score")
    assert code == 1
    assert "HOLDS WITH A CORRECTION, on record: fails" in text


def test_a_claim_without_a_record_differs(monkeypatch):
    (entry,) = check(find(["eq-score"]), {})
    assert not entry.agrees


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["thm-two-layr"], "no claim 'thm-two-layr'; nearest are thm-two-layer,"),
        (["e4"], "nearest are E4"),
        (["zzzz"], "no claim 'zzzz'; all are in docs/claims.md"),
        (["rem-bits", "--quick"], "none of rem-bits is in the quick set; drop --quick"),
        (["--results", "absent"], "--results absent is no folder"),
    ],
)
def test_bad_input_is_one_line_and_exit_2(run, words, message):
    code, text, error = run("claims", *words)
    assert (code, text) == (2, "")
    assert message in error
    assert error.count("\n") == 1


def rows(key, value, *entries, **columns):
    return [{key: level, f"{value}_mean": mean, f"{value}_std": std, **columns} for level, mean, std in entries]


DEPTH = rows("layers", "excess", (1, 0.131, 0.001), (2, 0.0985, 0.002), floor=0.0865)
TOKEN = rows("level", "excess", (0.0, 0.1, 0.003), (0.1, 0.152, 0.01), (0.25, 0.181, 0.002), (0.5, 0.212, 0.004))
TRANSITION = rows("level", "excess", (0, 0.1, 0.003), (0.1, 0.1, 0.003), (0.25, 0.14, 0.004), (0.5, 0.18, 0.004))
BITS = rows("bits", "distance", ("2", 4.7, 0.7), ("4", 4.5, 0.9), ("8", 3.9, 0.5), ("32", 3.8, 0.5), ("bfloat16", 3, 1))


def changed(table, place, **columns):
    return [{**row, **(columns if index == place else {})} for index, row in enumerate(table)]


@pytest.mark.parametrize(
    ("id", "tables", "verdict"),
    [
        ("tab-depth", [{"excess": DEPTH}], "holds"),
        ("tab-depth", [{"excess": changed(DEPTH, 1, excess_mean=0.0870)}], "holds with a correction"),
        ("tab-depth", [{"excess": changed(DEPTH, 1, excess_mean=0.1305)}], "fails"),
        ("tab-depth", [{"excess": changed(DEPTH, 0, excess_std=None)}], "holds"),
        ("tab-token-noise", [{"excess": TOKEN}], "holds"),
        ("tab-token-noise", [{"excess": changed(TOKEN, 3, excess_mean=0.3)}], "holds with a correction"),
        ("tab-token-noise", [{"excess": changed(TOKEN, 3, excess_mean=0.02)}], "fails"),
        ("tab-transition-noise", [{"excess": TRANSITION}], "holds"),
        ("tab-transition-noise", [{"excess": changed(TRANSITION, 1, excess_mean=0.16)}], "fails"),
        ("claim-robustness", [{"excess": TOKEN}, {"excess": TRANSITION}], "holds"),
        ("claim-robustness", [{"excess": TRANSITION}, {"excess": TOKEN}], "fails"),
        ("tab-bits", [{"distance": BITS}], "holds"),
        ("tab-bits", [{"distance": changed(BITS, 0, distance_mean=9.0)}], "holds with a correction"),
        ("tab-bits", [{"distance": changed(BITS, 2, distance_mean=8.0, distance_std=0.1)}], "fails"),
    ],
)
def test_verdicts_on_trained_models_follow_from_tables(id, tables, verdict):
    claim = CLAIMS[id]
    (entry,) = check([claim], recorded(), results=dict(zip(claim.experiments, tables, strict=True)))
    assert entry.finding.verdict.value == verdict
    assert entry.finding.numbers["levels" if id != "fig-attention" else "orders"]


def test_bits_without_a_map_are_infinitely_far():
    rows = [{"bits": bits, "distance_mean": mean, "distance_std": std} for bits, mean, std in
            (("2", None, None), ("4", 3.5, 0.7), ("8", 3.3, 0.6), ("32", 3.3, 0.6))]  # fmt: skip
    finding = CLAIMS["tab-bits"].measure({"distance": rows})
    assert finding.verdict == Verdict.CORRECTED
    assert finding.numbers["measured"][0] == float("inf")


def test_noise_is_judged_by_the_reading_that_the_printed_numbers_follow():
    flat = [
        {**row, "over_clean_mean": row["excess_mean"], "over_clean_std": 0.003, "excess_mean": 0.0} for row in TOKEN
    ]
    (entry,) = check(find(["tab-token-noise"]), recorded(), results={"token-noise": {"excess": flat}})
    assert entry.finding.verdict is Verdict.HOLDS
    assert entry.finding.detail == "with the loss taken over the undisturbed chain"


def test_attention_maps_are_judged_by_where_the_mass_is():
    table = [{"order": k, "layer_1_on_last_k": 0.95, "layer_2_on_matches": 0.85, "chance": 0.3} for k in (1, 2, 3)]
    for mass, verdict in ((0.85, Verdict.HOLDS), (0.4, Verdict.CORRECTED), (0.2, Verdict.FAILS)):
        tables = {"attention": changed(table, 1, layer_2_on_matches=mass)}
        (entry,) = check(find(["fig-attention"]), recorded(), results={"attention-maps": tables})
        assert entry.finding.verdict is verdict


def test_results_come_from_the_folder_of_reproduce(run, tmp_path):
    folder = tmp_path / "depth"
    folder.mkdir()
    (folder / "tables.json").write_text(json.dumps({"excess": DEPTH}))
    code, text, _ = run("claims", "tab-depth", "tab-bits", "--results", tmp_path, "--json")
    depth, bits = json.loads(text)["claims"]
    assert code == 0
    assert depth["verdict"] == "holds"
    assert bits["verdict"] == "not measured here"
    assert "anyorder reproduce bits" in bits["detail"]


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("{", "is not a whole JSON file"),
        ('{"excess": [1]}', "must map tables to lists of rows"),
        ('{"other": []}', "no table 'excess', only other"),
        ('{"excess": [{"layers": 1}]}', "no column 'excess_mean', only layers"),
        (json.dumps({"excess": DEPTH[:1]}), "no row for 2"),
    ],
)
def test_results_that_cannot_be_read_are_one_line(run, tmp_path, content, message):
    (tmp_path / "depth").mkdir()
    (tmp_path / "depth" / "tables.json").write_text(content)
    code, _, error = run("claims", "tab-depth", "--results", tmp_path)
    assert code == 2
    assert message in error
    assert error.count("\n") == 1
