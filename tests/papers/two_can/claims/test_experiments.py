"""Verdicts on trained models from small tables."""

from __future__ import annotations

import pytest

from anyorder.errors import InputError
from anyorder.papers.check import check
from anyorder.papers.entry import Verdict
from anyorder.papers.two_can.claims import CLAIMS
from anyorder.papers.two_can.claims.registry import recorded
from tests.papers.two_can.claims.small import DEPTH, TOKEN, noisy, rows, typed

TRANSITION = noisy((0, 0.1, 0.003), (0.1, 0.1, 0.003), (0.25, 0.14, 0.004), (0.5, 0.18, 0.004))
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
        ("tab-token-noise", [{"excess": [*of_paper(TOKEN, over_clean_mean=0.0), *TOKEN]}], "holds"),
        ("tab-token-noise", [{"excess": changed(TOKEN, 3, over_clean_mean=0.3)}], "trend holds, values differ"),
        ("tab-token-noise", [{"excess": changed(TOKEN, 3, over_clean_mean=0.02)}], "fails"),
        ("tab-transition-noise", [{"excess": TRANSITION}], "holds"),
        ("tab-transition-noise", [{"excess": changed(TRANSITION, 1, over_clean_mean=0.16)}], "fails"),
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


NOISE = [
    {
        "preset": "published",
        "level": level,
        "matching_mass_mean": mass,
        "matching_mass_seeds": [mass - 0.01, mass, mass + 0.01],
        "chance_mass": 0.3,
        "distance_mean": 3.0 + level,
        "uniform_distance": 3.0,
    }
    for level, mass in ((0.0, 0.9), (0.1, 0.87), (0.25, 0.6), (0.5, 0.35))
]


@pytest.mark.parametrize(
    ("id", "place", "masses", "verdict"),
    [
        ("claim-alignment-token", 0, [0.9], Verdict.HOLDS),
        ("claim-alignment-token", 0, [0.88, 0.6], Verdict.FAILS),  # a mean of 0.74, less than at the next level
        ("claim-alignment-token", 3, [0.7], Verdict.FAILS),
        ("claim-alignment-transition", 0, [0.9], Verdict.HOLDS),
        ("claim-alignment-transition", 1, [0.7], Verdict.TREND),  # two thirds are left at 0.1, and fewer further on
        ("claim-alignment-transition", 1, [0.5, 0.9], Verdict.FAILS),  # less than two errors of the difference
        ("claim-alignment-transition", 2, [0.89], Verdict.FAILS),  # whatever the distance does
    ],
)
def test_alignment_is_judged_from_chance_to_the_pseudo_attention(id, place, masses, verdict):
    table = changed(NOISE, place, matching_mass_seeds=masses)
    finding = CLAIMS[id].measure(typed({"excess": table + of_paper(NOISE, matching_mass_seeds=None)}))
    assert finding.verdict is verdict
    expected = sum(masses) / len(masses) if place == 0 else 0.9
    assert finding.numbers["alignment"][0] == pytest.approx((expected - 0.3) / 0.7)


def test_alignment_that_falls_from_less_than_a_half_is_a_trend():
    low = [
        {**row, "matching_mass_seeds": [0.3 + (mass - 0.3) / 2 for mass in row["matching_mass_seeds"]]} for row in NOISE
    ]
    assert CLAIMS["claim-alignment-token"].measure(typed({"excess": low})).verdict is Verdict.TREND


def test_robustness_is_judged_in_the_reading_of_the_tables():
    """Token noise costs more in another reading, and not in the one that is judged."""
    tokens = [{**row, "excess_mean": 0.5} for row in TRANSITION]
    transitions = [{**row, "excess_mean": 0.1} for row in TOKEN]
    assert (
        CLAIMS["claim-robustness"].measure(typed({"excess": tokens}), typed({"excess": transitions})).verdict
        is Verdict.FAILS
    )
    within = changed(TRANSITION, 2, over_clean_mean=0.181, over_clean_std=0.01)
    within = changed(within, 3, over_clean_mean=0.211, over_clean_std=0.01)
    within = changed(within, 1, over_clean_mean=0.151, over_clean_std=0.01)
    assert (
        CLAIMS["claim-robustness"].measure(typed({"excess": TOKEN}), typed({"excess": within})).verdict is Verdict.FAILS
    )


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


def test_one_reading_of_noise_is_judged_and_the_others_are_named():
    """The printed values come out in another reading: that does not make the table hold."""
    any_token = [{f"any_{name}" if "_" in name else name: value for name, value in row.items()} for row in TOKEN]
    high = [{**row, "over_clean_mean": row["over_clean_mean"] + 0.2 * row["level"]} for row in TOKEN]
    finding = CLAIMS["tab-token-noise"].measure(typed({"excess": high, "any_token": any_token}))
    assert finding.verdict is Verdict.TREND
    assert finding.detail.endswith("every value agrees in another reading: replacement by any token")
    flat = [{**row, "over_clean_mean": 0.1} for row in TOKEN]
    finding = CLAIMS["tab-token-noise"].measure(typed({"excess": flat, "any_token": any_token}))
    assert finding.verdict is Verdict.FAILS


CELL = {
    "preset": "published",
    "learning_rate": 1e-3,
    "dimension": 32,
    "batch": 16,
    "one_layer": 0.15,
    "two_layers": 0.11,
}


@pytest.mark.parametrize(
    ("columns", "verdict"),
    [
        ({}, Verdict.HOLDS),
        ({"two_layers": 0.16}, Verdict.TREND),  # no better than one layer, which is far from the table's two
        ({"one_layer": 0.1, "two_layers": 0.09}, Verdict.FAILS),  # within two deviations of 0.0985 ± 0.002
    ],
)
def test_the_difference_of_depth_is_judged_in_every_cell(columns, verdict):
    finding = CLAIMS["claim-depth-settings"].measure(typed({"cells": [CELL, CELL | columns]}), typed({"excess": DEPTH}))
    assert finding.verdict is verdict
    assert finding.numbers["cells"] == 2


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
    assert ("the rule requires 80% and 50%" in finding.detail) == (verdict is Verdict.TREND)


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
