"""Verdicts on trained models from small tables."""

from __future__ import annotations

import pytest

from anyorder.errors import InputError
from anyorder.papers.check import check
from anyorder.papers.entry import Verdict
from anyorder.papers.two_can.claims import CLAIMS, find
from anyorder.papers.two_can.claims.registry import recorded
from tests.papers.two_can.claims.small import DEPTH, TOKEN, rows, typed

TRANSITION = rows("level", "excess", (0, 0.1, 0.003), (0.1, 0.1, 0.003), (0.25, 0.14, 0.004), (0.5, 0.18, 0.004))
BITS = rows("bits", "distance", ("2", 4.7, 0.7), ("4", 4.5, 0.9), ("8", 3.9, 0.5), ("32", 3.8, 0.5), ("bfloat16", 3, 1))


def changed(table, place, **columns):
    return [{**row, **(columns if index == place else {})} for index, row in enumerate(table)]


def of_paper(table, **columns):
    """Rows of a preset that is not judged."""
    return [{**row, "preset": "paper", **columns} for row in table]


@pytest.mark.parametrize(
    ("id", "tables", "verdict"),
    [
        ("tab-depth", [{"excess": DEPTH}], "holds"),
        ("tab-depth", [{"excess": changed(DEPTH, 1, excess_mean=0.0870)}], "trend holds, values differ"),
        ("tab-depth", [{"excess": changed(DEPTH, 0, excess_mean=0.149)}], "trend holds, values differ"),
        ("tab-depth", [{"excess": [*DEPTH, *of_paper(DEPTH, excess_mean=0.2)]}], "holds"),
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
        ("tab-bits", [{"distance": changed(BITS, 0, distance_mean=9.0)}], "trend holds, values differ"),
        ("tab-bits", [{"distance": [*of_paper(BITS, distance_mean=9.0), *BITS]}], "holds"),
        ("tab-bits", [{"distance": changed(BITS, 2, distance_mean=8.0, distance_std=0.1)}], "fails"),
        ("tab-bits", [{"distance": changed(BITS, 3, distance_std=None)}], "holds"),
    ],
)
def test_verdicts_on_trained_models_follow_from_tables(id, tables, verdict):
    claim = CLAIMS[id]
    (entry,) = check([claim], recorded(), results=dict(zip(claim.experiments, map(typed, tables), strict=True)))
    assert entry.finding.verdict.value == verdict
    assert entry.finding.numbers["levels" if id != "fig-attention" else "orders"]


def test_nothing_missing_is_judged():
    with pytest.raises(InputError, match="no value of 'distance_mean' in the row of 2; a missing value cannot"):
        CLAIMS["tab-bits"].measure(typed({"distance": changed(BITS, 0, distance_mean=None)}))
    with pytest.raises(InputError, match=r"no levels 0, 0\.1 and 0\.25; run with the paper's"):
        CLAIMS["claim-alignment-transition"].measure(typed({"excess": NOISE[1:]}))


def test_bits_can_fail():
    for place, mean in ((2, 4.5), (0, 3.5)):  # eight bits lose as much as two, or two lose nothing
        finding = CLAIMS["tab-bits"].measure(typed({"distance": changed(BITS, place, distance_mean=mean)}))
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
    finding = CLAIMS[id].measure(typed({"excess": changed(NOISE, place, matching_mass=mass)}))
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
    finding = CLAIMS["claim-alignment-transition"].measure(typed({"excess": away}))
    assert finding.verdict is verdict
    assert "100% and 100% from 0.25 on" in finding.detail
    assert finding.numbers["their difference"][-1] == pytest.approx(-0.1 + 0.5 * (slope - 0.4))


def test_robustness_says_in_which_readings_it_is_so():
    clean = {"over_clean_std": 0.001}
    tokens = [row | clean | {"over_clean_mean": 0.1 + 0.2 * row["level"]} for row in TRANSITION]
    transitions = [row | clean | {"over_clean_mean": 0.1 + 0.1 * row["level"]} for row in TOKEN]
    finding = CLAIMS["claim-robustness"].measure(typed({"excess": tokens}), typed({"excess": transitions}))
    assert finding.verdict is Verdict.HOLDS
    expected = "with the loss taken over the undisturbed chain, not over what each token was drawn from; levels"
    assert finding.detail.startswith(expected)


@pytest.mark.parametrize(
    ("weights", "verdict"),
    [
        ((0.05, 0.5, 0.3, 0.1), Verdict.HOLDS),
        ((0.3, 0.3, 0.2, 0.05), Verdict.TREND),
        ((0.1, 0.1, 0.1, 0.1), Verdict.FAILS),
    ],
)
def test_diagonals_of_one_layer_are_judged_by_their_mass(weights, verdict):
    table = rows("offset", "weight", *((offset, weight, 0.01) for offset, weight in enumerate(weights)))
    beside = of_paper(table, weight_mean=0.3)
    finding = CLAIMS["claim-one-layer-diagonals"].measure(typed({"diagonals": table + beside}))
    assert finding.verdict is verdict
    # the pseudo-attention lies on all diagonals, and has little of its mass on these three
    assert finding.numbers["of the pseudo-attention at offsets 1 to 3"] == pytest.approx(0.25, abs=0.03)


def test_noise_is_judged_by_the_reading_that_the_printed_numbers_follow():
    flat = [
        {**row, "over_clean_mean": row["excess_mean"], "over_clean_std": 0.003, "excess_mean": 0.0} for row in TOKEN
    ]
    (entry,) = check(find(["tab-token-noise"]), recorded(), results={"token-noise": typed({"excess": flat})})
    assert entry.finding.verdict is Verdict.HOLDS
    assert entry.finding.detail == "with the loss taken over the undisturbed chain; readings tried: 2"


def test_noise_is_judged_by_what_tokens_may_be_replaced_by_too():
    flat = [{**row, "excess_mean": 0.0} for row in TOKEN]
    again = [
        {"level": row["level"], "any_over_clean_mean": row["excess_mean"], "any_over_clean_std": 0.003} for row in TOKEN
    ]
    finding = CLAIMS["tab-token-noise"].measure(typed({"excess": flat, "any_token": again}))
    assert finding.verdict is Verdict.HOLDS
    assert finding.detail == "with the loss taken over the undisturbed chain, tokens replaced by any; readings tried: 2"


ATTENTION = [
    {"preset": "published", "order": k, "layer_1_on_last_k": 0.95, "layer_2_on_matches": 0.85, "chance": 0.3,
     "match_contrast_mean": 3.5, "match_contrast_seeds": [3.0, 4.0]}
    for k in (1, 2, 3)
]  # fmt: skip


@pytest.mark.parametrize(
    ("columns", "verdict"),
    [
        ({}, Verdict.HOLDS),
        ({"layer_2_on_matches": 0.6}, Verdict.TREND),  # 43 % of the way from chance, and matches stand out
        ({"layer_1_on_last_k": 0.7}, Verdict.TREND),
        # an alignment above that of uniform attention is not enough, nor matches that stand out in most seeds
        ({"layer_2_on_matches": 0.4, "match_contrast_seeds": [1.5, 4.0]}, Verdict.FAILS),
        ({"layer_1_on_last_k": 0.4}, Verdict.FAILS),
    ],
)
def test_attention_maps_are_judged_at_the_order_that_the_paper_shows(columns, verdict):
    elsewhere = {"layer_1_on_last_k": 0.02, "layer_2_on_matches": 0.3, "match_contrast_seeds": [1.0, 1.0]}
    table = changed(changed(ATTENTION, 2, **columns), 0, **elsewhere)
    finding = CLAIMS["fig-attention"].measure(typed({"attention": [*of_paper(ATTENTION, **elsewhere), *table]}))
    assert finding.verdict is verdict
    assert ("the rule asks for 80% and 50%" in finding.detail) == (verdict is Verdict.TREND)


def offsets(order, *seeds):
    """Weights at offsets 0 … k + 1, a tuple for each seed."""
    return [
        {"preset": "published", "order": order, "offset": offset, "weight_mean": sum(weights) / len(weights),
         "weight_seeds": list(weights)}
        for offset, weights in enumerate(zip(*seeds, strict=True))
    ]  # fmt: skip


RISING = {1: (0.1, 0.6, 0.1), 2: (0.0, 0.3, 0.5, 0.1), 3: (0.0, 0.1, 0.3, 0.5, 0.05)}
GOOD = [row for order, weights in RISING.items() for row in offsets(order, *[weights] * 3)]


def shaped(order, *seeds):
    """All orders as they should be, but for one."""
    return {"offsets": [row for row in GOOD if row["order"] != order] + offsets(order, *seeds)}


FLAT, LATE = (0.0, 0.3, 0.3, 0.3, 0.1), (0.0, 0.1, 0.3, 0.5, 0.3)  # does not rise, does not end


@pytest.mark.parametrize(
    ("seeds", "verdict"),
    [
        ([RISING[3]] * 3, Verdict.HOLDS),
        ([RISING[3], RISING[3], LATE], Verdict.TREND),
        ([RISING[3], FLAT, LATE], Verdict.FAILS),
        # two seeds rise and two end, and one does both
        ([RISING[3], LATE, (0.0, 0.4, 0.3, 0.5, 0.05)], Verdict.FAILS),
    ],
)
def test_that_attention_rises_and_ends_is_judged_seed_by_seed(seeds, verdict):
    for id in ("fig-attention-rises", "claim-other-orders"):
        tables = shaped(3, *seeds)
        tables["offsets"] += of_paper(GOOD, weight_seeds=[0.1])  # not judged
        assert CLAIMS[id].measure(typed(tables)).verdict is verdict


@pytest.mark.parametrize(
    ("order", "seeds", "verdict"),
    [
        (2, [RISING[2], RISING[2], (0.0, 0.2, 0.4, 0.35)], Verdict.TREND),
        (1, [(0.1, 0.4, 0.1)] * 3, Verdict.FAILS),  # offset 1 is the largest, and has less than half of the mass
        (1, [(0.1, 0.02, 0.2)] * 3, Verdict.FAILS),
    ],
)
def test_what_the_paper_says_of_every_order_is_judged_at_every_order(order, seeds, verdict):
    tables = shaped(order, *seeds)
    finding = CLAIMS["claim-other-orders"].measure(typed(tables))
    assert finding.verdict is verdict
    assert CLAIMS["fig-attention-rises"].measure(typed(tables)).verdict is Verdict.HOLDS  # Fig. 2 is order 3


def test_a_table_of_settings_can_not_be_refuted():
    finding = CLAIMS["tab-settings"].measure()
    assert finding.verdict is Verdict.UNTESTABLE
    assert finding.numbers["settings of the authors' code outside the grid"] == ["learning_rate 0.002"]
    assert "mlp" in finding.numbers["fields of its architecture that differ from GPT-2"]
