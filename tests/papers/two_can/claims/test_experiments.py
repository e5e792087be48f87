"""Verdicts on trained models from small tables."""

from __future__ import annotations

import pytest

from anyorder.errors import InputError
from anyorder.papers.check import check
from anyorder.papers.entry import Verdict
from anyorder.papers.two_can.claims import CLAIMS, find
from anyorder.papers.two_can.claims.registry import recorded
from tests.papers.two_can.claims.small import DEPTH, TOKEN, rows

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
    with pytest.raises(InputError, match="no value of 'distance_mean' in the row of 2; a missing value cannot"):
        CLAIMS["tab-bits"].measure({"distance": changed(BITS, 0, distance_mean=None)})
    with pytest.raises(InputError, match=r"no levels 0, 0\.1 and 0\.25; run with the paper's"):
        CLAIMS["claim-alignment-transition"].measure({"excess": NOISE[1:]})


def test_bits_can_fail():
    for place, mean in ((2, 4.5), (0, 3.5)):  # eight bits lose as much as two, or two lose nothing
        finding = CLAIMS["tab-bits"].measure({"distance": changed(BITS, place, distance_mean=mean)})
        assert finding.verdict is Verdict.FAILS


SEEDS = 4
NOISE = [
    {
        "level": level,
        "matching_mass": mass,
        "chance_mass": 0.3,
        "distance_mean": 3.0,
        "distance_std": 0.1,
        "distance_seeds": [3.0] * SEEDS,
        "uniform_distance": 3.0 + 0.4 * level,
    }
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


@pytest.mark.parametrize(
    ("slope", "deviation", "verdict"),
    [
        (0.4, 0.03, Verdict.FAILS),  # the distance of uniform attention grows as much
        (0.8, 0.03, Verdict.CORRECTED),
        (0.8, 0.12, Verdict.CORRECTED),  # 0.2 is less than two deviations of a seed, and more than two of the mean
        (0.8, 0.24, Verdict.FAILS),
    ],
)
def test_a_distance_is_held_against_that_of_uniform_attention_by_the_error_of_its_mean(slope, deviation, verdict):
    away = [
        row | {"matching_mass": 0.9, "distance_mean": 2.9 + slope * row["level"], "distance_std": deviation}
        for row in NOISE
    ]
    finding = CLAIMS["claim-alignment-transition"].measure({"excess": away})
    assert finding.verdict is verdict
    assert "100% and 100% from 0.25 on" in finding.detail
    assert finding.numbers["their difference"][-1] == pytest.approx(-0.1 + 0.5 * (slope - 0.4))


def test_robustness_says_in_which_readings_it_is_so():
    clean = {"over_clean_std": 0.001}
    tokens = [row | clean | {"over_clean_mean": 0.1 + 0.2 * row["level"]} for row in TRANSITION]
    transitions = [row | clean | {"over_clean_mean": 0.1 + 0.1 * row["level"]} for row in TOKEN]
    finding = CLAIMS["claim-robustness"].measure({"excess": tokens}, {"excess": transitions})
    assert finding.verdict is Verdict.HOLDS
    expected = "with the loss taken over the undisturbed chain, not over what each token was drawn from; levels"
    assert finding.detail.startswith(expected)


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
    finding = CLAIMS["claim-one-layer-diagonals"].measure({"diagonals": rows})
    assert finding.verdict is verdict
    # the pseudo-attention lies on all diagonals, and has little of its mass on these three
    assert finding.numbers["of the pseudo-attention at offsets 1 to 3"] == pytest.approx(0.25, abs=0.03)


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
        came = "layer one has 95% of its mass there, and layer two comes 14% of the way"
        assert entry.finding.detail.startswith(came) == (verdict is Verdict.CORRECTED)


def test_attention_is_judged_at_the_order_that_the_paper_shows():
    table = [{"order": k, "layer_1_on_last_k": 0.95, "layer_2_on_matches": 0.85, "chance": 0.3} for k in (1, 2, 3)]
    elsewhere = changed(table, 0, layer_1_on_last_k=0.02, layer_2_on_matches=0.3)
    assert CLAIMS["fig-attention"].measure({"attention": elsewhere}).verdict is Verdict.HOLDS


def test_that_attention_rises_is_judged_seed_by_seed():
    row = {"layer_1_beyond_k": 0.1, "excess_seeds": [0.1] * 5}
    for rise, end, verdict in ((5, 5, Verdict.HOLDS), (5, 2, Verdict.CORRECTED), (2, 5, Verdict.FAILS)):
        table = [{"order": k, "seeds_that_rise_to_k": rise, "seeds_that_end_at_k": end, **row} for k in (1, 2, 3)]
        assert CLAIMS["fig-attention-rises"].measure({"attention": table}).verdict is verdict


def test_what_the_paper_says_of_every_order_is_judged_at_every_order():
    row = {"layer_1_on_last_k": 0.9, "layer_1_beyond_k": 0.1, "excess_seeds": [0.1] * 5}
    good = [{"order": k, "seeds_that_rise_to_k": 5, "seeds_that_end_at_k": 5, **row} for k in (1, 2, 3)]
    cases = [
        (good, Verdict.HOLDS),
        (changed(good, 1, seeds_that_end_at_k=0), Verdict.CORRECTED),
        (changed(good, 0, layer_1_on_last_k=0.02), Verdict.CORRECTED),  # a rise along one diagonal says nothing
        ([{**one, "seeds_that_end_at_k": 0} for one in good], Verdict.FAILS),
    ]
    presets = {"excess": [{"model": "published", "layer_1_on_last_k": [0.83, 0.79]}]}
    for table, expected in cases:
        finding = CLAIMS["claim-other-orders"].measure({"attention": table}, presets)
        assert finding.verdict is expected
        assert ("preset `published`, have 79% or more" in finding.detail) == (expected is Verdict.CORRECTED)
