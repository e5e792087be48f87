"""The ledger of claims: the quick set against the record, the page, the command, and verdicts from small tables."""

from __future__ import annotations

import dataclasses
import json
import pathlib

import numpy as np
import pytest

from anyorder.claims import CLAIMS, check, constructions, find, ledger, measures, registry
from anyorder.claims.check import compare
from anyorder.claims.entry import Verdict, judge
from anyorder.claims.errata import ERRATA, NOTES
from anyorder.claims.registry import PARTS, recorded
from anyorder.constructions import construct
from anyorder.errors import InputError
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


def test_the_pages_are_those_of_the_record():
    assert (ROOT / "docs" / "claims.md").read_text(encoding="utf-8") == ledger.page()
    assert (ROOT / "docs" / "errata.md").read_text(encoding="utf-8") == ledger.errata_page()


def test_every_claim_is_on_record_and_every_erratum_names_the_claim_that_measures_it():
    assert set(recorded()) == set(CLAIMS)
    assert sum(map(len, PARTS.values())) == len(CLAIMS)
    ids = [entry.id for entry in (*ERRATA, *NOTES)]
    assert len(ids) == len(set(ids))
    for entry in (*ERRATA, *NOTES):
        assert entry.claim in CLAIMS, entry.id
    # What the ledger corrects or refutes is an erratum or, where the paper does not err, a note; and the reverse.
    wrong = {"holds with a correction", "fails", "vacuous"}
    found = {id for id, claim in CLAIMS.items() if not claim.experiments and recorded()[id]["verdict"] in wrong}
    named = {entry.claim for entry in (*ERRATA, *NOTES)}
    assert found - named - {"thm-any-order", "thm-two-head-variants"} == set()  # E8 and E7 name the other of a pair
    assert {entry.claim for entry in ERRATA} - found == {"eq-g-any-order"}  # E41 is a slip that the next line mends
    quick = sum(recorded()[claim.id]["seconds"] for claim in CLAIMS.values() if claim.quick)
    assert quick < 120


def test_entries_about_one_fact_refer_to_each_other_and_none_is_a_copy():
    for claim in CLAIMS.values():
        for other in claim.see:
            assert claim.id in CLAIMS[other].see, (claim.id, other)
    measures = [claim.measure for claim in CLAIMS.values()]
    assert len(set(measures)) == len(measures)
    numbers = [json.dumps(record["numbers"]) for record in recorded().values() if record["numbers"]]
    assert len(set(numbers)) == len(numbers)


def test_a_verdict_follows_from_its_comparisons():
    assert judge({}, printed=True, decisive=False, note="n").verdict is Verdict.CONSISTENT
    assert judge({}, printed=True, vacuous="no case").detail == "no case"
    assert judge({}, printed=True, vacuous="no case").verdict is Verdict.VACUOUS
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
    slow = {id: {**record, "seconds": 75.0} for id, record in recorded().items()}
    monkeypatch.setattr(registry, "recorded", lambda: slow)
    code, text, error = run("claims", "E9")
    assert code == 0, text
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


def test_a_number_that_moved_is_named_and_is_exit_1(run, monkeypatch):
    record = recorded()["eq-recursion"]
    numbers = {**record["numbers"], "by the recursion": [0.8, 0.7, 0.6], "gone": 1}
    monkeypatch.setattr(registry, "recorded", lambda: {**recorded(), "eq-recursion": {**record, "numbers": numbers}})
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


def test_each_number_has_its_own_tolerance():
    claim = dataclasses.replace(CLAIMS["eq-score"], tolerances={"loose": 0.1})
    before = {"loose": 1.0, "strict": 1.0, "rounding": 1e-16, "words": ["a"], "count": 3}
    now = {"loose": 1.09, "strict": 1.002, "rounding": 3e-9, "words": ["a"], "count": 4}
    assert [moved.number for moved in compare(claim, before, now)] == ["strict", "count"]
    assert [moved.number for moved in compare(claim, before, {**before, "loose": 1.2})] == ["loose"]


def test_a_claim_without_a_record_differs(monkeypatch):
    (entry,) = check(find(["eq-score"]), {})
    assert not entry.agrees


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["thm-two-layr"], "no claim 'thm-two-layr'; nearest are thm-two-layer,"),
        (["e4"], "nearest are E4"),
        (["zzzz"], "no claim 'zzzz'; all are in docs/claims.md"),
        (["alg-1", "--quick"], "none of alg-1 is in the quick set; drop --quick"),
        (["--results", "absent"], "--results absent holds no tables of experiments"),
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
        ("tab-bits", [{"distance": changed(BITS, 3, distance_std=None)}], "holds"),
    ],
)
def test_verdicts_on_trained_models_follow_from_tables(id, tables, verdict):
    claim = CLAIMS[id]
    (entry,) = check([claim], recorded(), results=dict(zip(claim.experiments, tables, strict=True)))
    assert entry.finding.verdict.value == verdict
    assert entry.finding.numbers["levels" if id != "fig-attention" else "orders"]


def test_nothing_missing_is_judged():
    for column in ("distance_mean",):
        with pytest.raises(InputError, match="no value of 'distance_mean' in the row of 2; a missing value cannot"):
            CLAIMS["tab-bits"].measure({"distance": changed(BITS, 0, **{column: None})})


def test_bits_can_fail():
    for place, mean in ((2, 4.5), (0, 3.5)):  # eight bits lose as much as two, or two lose nothing
        finding = CLAIMS["tab-bits"].measure({"distance": changed(BITS, place, distance_mean=mean)})
        assert finding.verdict is Verdict.FAILS


NOISE = [
    {"level": level, "matching_mass": mass, "chance_mass": 0.3, "distance_mean": 3.0, "distance_std": 0.1}
    for level, mass in ((0.0, 0.9), (0.1, 0.87), (0.25, 0.6), (0.5, 0.35))
]


@pytest.mark.parametrize(
    ("id", "place", "mass", "verdict"),
    [
        ("claim-alignment-token", 0, 0.9, "holds"),
        ("claim-alignment-token", 3, 0.7, "fails"),
        ("claim-alignment-transition", 0, 0.9, "holds"),
        ("claim-alignment-transition", 1, 0.7, "holds with a correction"),
        ("claim-alignment-transition", 2, 0.89, "fails"),
    ],
)
def test_alignment_is_judged_from_chance_to_the_pseudo_attention(id, place, mass, verdict):
    finding = CLAIMS[id].measure({"excess": changed(NOISE, place, matching_mass=mass)})
    assert finding.verdict.value == verdict
    assert finding.numbers["alignment"][0] == pytest.approx((0.9 if place else mass) / 0.7 - 0.3 / 0.7)


def test_attention_that_moves_away_from_the_ideal_has_deteriorated():
    away = [
        row | {"matching_mass": 0.9, "distance_mean": 3.0 + row["level"], "distance_std": deviation}
        for deviation in (0.01, 0.9)
        for row in NOISE
    ]
    finding = CLAIMS["claim-alignment-transition"].measure({"excess": away[:4]})
    assert finding.verdict is Verdict.CORRECTED
    assert finding.detail.startswith("the distance to the pseudo-attention grows with α")
    assert CLAIMS["claim-alignment-transition"].measure({"excess": away[4:]}).verdict is Verdict.FAILS


@pytest.mark.parametrize(
    ("weights", "verdict"),
    [
        ((0.05, 0.5, 0.3, 0.1), Verdict.HOLDS),
        ((0.3, 0.3, 0.2, 0.05), Verdict.CORRECTED),
        ((0.1, 0.1, 0.1, 0.1), Verdict.FAILS),
    ],
)
def test_diagonals_of_one_layer_are_judged_by_their_mass(weights, verdict):
    rows = [{"offset": offset, "weight_mean": weight, "weight_std": 0.01} for offset, weight in enumerate(weights)]
    assert CLAIMS["claim-one-layer-diagonals"].measure({"diagonals": rows}).verdict is verdict


def test_noise_is_judged_by_the_reading_that_the_printed_numbers_follow():
    flat = [
        {**row, "over_clean_mean": row["excess_mean"], "over_clean_std": 0.003, "excess_mean": 0.0} for row in TOKEN
    ]
    (entry,) = check(find(["tab-token-noise"]), recorded(), results={"token-noise": {"excess": flat}})
    assert entry.finding.verdict is Verdict.HOLDS
    assert entry.finding.detail == "with the loss taken over the undisturbed chain; readings tried: 2"


def test_noise_is_judged_by_what_tokens_may_be_replaced_by_too():
    flat = [{**row, "excess_mean": 0.0} for row in TOKEN]
    again = [
        {"level": row["level"], "any_over_clean_mean": row["excess_mean"], "any_over_clean_std": 0.003} for row in TOKEN
    ]
    finding = CLAIMS["tab-token-noise"].measure({"excess": flat, "any_token": again})
    assert finding.verdict is Verdict.HOLDS
    assert finding.detail == "with the loss taken over the undisturbed chain, tokens replaced by any; readings tried: 2"


def test_attention_maps_are_judged_by_where_the_mass_is():
    table = [{"order": k, "layer_1_on_last_k": 0.95, "layer_2_on_matches": 0.85, "chance": 0.3} for k in (1, 2, 3)]
    for mass, verdict in ((0.85, Verdict.HOLDS), (0.4, Verdict.CORRECTED), (0.2, Verdict.FAILS)):
        other = {**table[0], "preset": "floor", "layer_2_on_matches": 0.0}  # models of another preset do not count
        tables = {"attention": [*changed(table, 2, layer_2_on_matches=mass), other]}
        (entry,) = check(find(["fig-attention"]), recorded(), results={"attention-maps": tables})
        assert entry.finding.verdict is verdict


def test_attention_is_judged_at_the_order_that_the_paper_shows():
    table = [{"order": k, "layer_1_on_last_k": 0.95, "layer_2_on_matches": 0.85, "chance": 0.3} for k in (1, 2, 3)]
    elsewhere = changed(table, 0, layer_1_on_last_k=0.02, layer_2_on_matches=0.3)
    assert CLAIMS["fig-attention"].measure({"attention": elsewhere}).verdict is Verdict.HOLDS


def test_that_attention_rises_is_judged_seed_by_seed():
    row = {"layer_1_beyond_k": 0.1, "excess_seeds": [0.1] * 5}
    for rise, end, verdict in ((5, 5, Verdict.HOLDS), (5, 2, Verdict.CORRECTED), (2, 5, Verdict.FAILS)):
        table = [{"order": k, "seeds_that_rise_to_k": rise, "seeds_that_end_at_k": end, **row} for k in (1, 2, 3)]
        assert CLAIMS["fig-attention-rises"].measure({"attention": table}).verdict is verdict


def test_results_come_from_the_folder_of_reproduce(run, tmp_path):
    result = {"id": "depth", "tables": {"excess": {"caption": "…", "rows": DEPTH}}}
    (tmp_path / "depth.json").write_text(json.dumps(result))
    (tmp_path / "other.json").write_text("{}")
    (tmp_path / "token-noise").mkdir()
    (tmp_path / "token-noise" / "tables.json").write_text(json.dumps({"excess": TOKEN}))
    _, text, _ = run("claims", "tab-depth", "tab-token-noise", "tab-bits", "--results", tmp_path, "--json")
    depth, noise, bits = json.loads(text)["claims"]
    assert (depth["verdict"], noise["verdict"]) == ("holds", "holds")
    assert bits["verdict"] == "not measured here"
    assert "anyorder reproduce bits" in bits["detail"]


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


def verdict(id):
    return recorded()[id]["verdict"]


def test_what_was_unfair_or_circular_stays_as_it_was_put_right():
    """Each line fails on the verdict that once stood there."""
    assert verdict("thm-any-order") == "vacuous"  # its assumption cannot be met: not false
    assert verdict("thm-second-order-weights") == "holds"  # under the assumption as printed
    assert verdict("thm-second-order-limit") == "holds with a correction"
    assert verdict("asm-second-order") == "holds with a correction"  # the cyclic shift, not reversal
    assert verdict("asm-second-order-reversal") == "holds"
    assert verdict("lem-second-order") == "fails"  # as stated
    assert verdict("def-markov") == "holds"
    assert verdict("tab-settings") == "holds"
    assert verdict("eq-g-positive") == "fails"  # g_1 > 1 is false
    assert {verdict(id) for id in ("thm-grad", "thm-grad-constant", "thm-generalisation")} == {"consistent with"}
    newest, falling = recorded()["lem-second-order"]["numbers"]["kernels and of these falling, newest first"]
    assert 0.55 < falling / newest < 0.65
    oldest, falling = recorded()["lem-second-order"]["numbers"]["kernels and of these falling, oldest first"]
    assert 0.28 < falling / oldest < 0.38
    # what the prior `Reversible` rejects is looked for in kernels that it did not reject
    counts = recorded()["eq-return-count"]["numbers"]
    assert counts["of 64 reversible kernels with a falling count, order 2"] < 64
    assert {"E5", "E11", "E13", "E14", "E20", "E22"} & {entry.id for entry in ERRATA} == set()
