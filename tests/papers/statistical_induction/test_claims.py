"""Verdicts follow from tables, and one number refutes each."""

import pytest

from anyorder.papers.statistical_induction import claims
from anyorder.sweeps.analysis import spread

AROUND = (0.96, 0.98, 1.0, 1.02, 1.04)


def staged(hits, order=1):
    names = ("uniform", "order-0", "order-1", "order-2")[: order + 2]
    model = claims.OURS if order == 1 else claims.THEIRS
    common = {"order": order, "model": model, "seeds_that_pass_all": hits, "share_from": 0.0, "share_to": 1.0}
    few = spread([1.0] * 5)
    common["seeds_with_a_stage"] = hits
    rows = [{**common, "strategy": name, "begins": few, "nearest_share_of_run": few, "closest": few} for name in names]
    return {"stages": rows}


@pytest.mark.parametrize(("hits", "verdict"), [(5, "holds"), (3, "trend holds, values differ"), (2, "fails")])
def test_stages_are_counted_over_seeds(hits, verdict):
    assert claims.three_stages.measure(staged(hits)).verdict == verdict
    assert claims.stages_of_order_two.measure(staged(hits, 2)).verdict == verdict
    assert claims.stages_of_order_two.measure(staged(hits)).verdict == "not measured here"  # order 2 is missing


@pytest.mark.parametrize(
    ("doubly", "arriving", "verdict"),
    [
        (500, 5, "holds"),
        (970, 5, "trend holds, values differ"),
        (500, 4, "trend holds, values differ"),
        (1200, 5, "fails"),
    ],
)
def test_the_delay_is_judged_by_intervals(doubly, arriving, verdict):
    steps, end = {"dirichlet": 1000, "doubly-stochastic": doubly}, spread(AROUND)
    rows = [
        {
            "model": claims.THEIRS,
            "prior": prior,
            "seeds_that_arrive": arriving,
            "arrives": spread([step * one for one in AROUND]),
            "end": end,
        }
        for prior, step in steps.items()
    ]
    assert claims.unigram_delays.measure({"arrivals": rows}).verdict == verdict
    ours = [row | {"model": claims.OURS} for row in rows]  # models of our own are not judged
    assert claims.unigram_delays.measure({"arrivals": ours}).verdict == "not measured here"


@pytest.mark.parametrize(
    ("later", "verdict"),
    [
        ((-60.0, -50.0, -40.0, -50.0, -50.0), "holds"),
        ((-60.0, 50.0, -40.0, 20.0, -50.0), "trend holds, values differ"),
        ((9.0,) * 5, "fails"),
    ],
)
def test_which_layer_is_first_is_judged_within_seeds(later, verdict):
    row = {"order": 1, "layer_1": spread([1.0]), "layer_2": spread([1.0]), "layer_2_later": spread(later)}
    assert claims.layer_two_first.measure({"layers": [row]}).verdict == verdict
