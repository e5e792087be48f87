"""Verdicts follow from tables, and one number refutes each."""

import pytest

from anyorder.papers.competition import claims
from anyorder.sweeps.analysis import spread

AROUND = (0.98, 0.99, 1.0, 1.01, 1.02)


def row(chains, step, weights, pool_gap=0.1, novel_gap=0.1, layers=2, dimension=32):
    """Weights of unigram retrieval, unigram inference, retrieval and inference."""
    names = ("unigram-retrieval", "order-0", "retrieval", "order-1")
    found = {name: spread([one * factor for factor in AROUND]) for name, one in zip(names, weights, strict=True)}
    gaps = {"pool_gap": pool_gap, "novel_gap": novel_gap}
    found |= {name: spread([one * factor for factor in AROUND]) for name, one in gaps.items()}
    return {"chains": chains, "step": step, "layers": layers, "dimension": dimension, **found}


def ideal():
    rows = []
    for chains, end in ((2, (0.0, 0.0, 0.9, 0.1)), (8, (0.0, 0.0, 0.7, 0.3)), (64, (0.0, 0.0, 0.2, 0.8))):
        middle = (0.0, 0.1, 0.1, 0.8) if chains > 2 else (0.0, 0.1, 0.8, 0.1)
        rows.append(row(chains, 0, (0.5, 0.5, 0.0, 0.0), pool_gap=0.4))
        rows.append(row(chains, 10, (0.3, 0.5, 0.1, 0.1), pool_gap=0.3))
        rows += [row(chains, 100, middle), row(chains, 1000, end, novel_gap=0.3)]
    return rows


def changed(chains, step, weights, **gaps):
    rows = [
        row(chains, step, weights, **gaps) if (one["chains"], one["step"]) == (chains, step) else one for one in ideal()
    ]
    return {"weights": rows}


def test_all_hold_on_the_ideal_table():
    for claim in (claims.few_are_retrieved, claims.many_are_inferred, claims.unigrams_first):
        assert claim.measure({"weights": ideal()}).verdict == "holds"
    found = claims.inference_is_transient.measure({"weights": ideal()})
    assert found.verdict == "holds"
    assert found.numbers["replaced at N"] == [8]


def test_one_number_refutes_each():
    assert claims.few_are_retrieved.measure(changed(2, 1000, (0, 0, 0.5, 0.5))).verdict == "fails"
    assert claims.many_are_inferred.measure(changed(64, 1000, (0, 0, 0.5, 0.5))).verdict == "fails"
    early = changed(8, 10, (0.1, 0.1, 0.4, 0.4), pool_gap=0.3)
    assert claims.unigrams_first.measure(early).verdict == "trend holds, values differ"
    uniform = changed(8, 10, (0.3, 0.5, 0.1, 0.1), pool_gap=0.4)  # nothing is learnt yet
    assert claims.unigrams_first.measure(uniform).verdict == "trend holds, values differ"
    kept = changed(8, 1000, (0.0, 0.0, 0.4, 0.6), novel_gap=0.3)
    assert claims.inference_is_transient.measure(kept).verdict == "trend holds, values differ"
    still = changed(8, 1000, (0.0, 0.0, 0.2, 0.8), novel_gap=0.3)
    assert claims.inference_is_transient.measure(still).verdict == "fails"


def test_the_smallest_and_the_largest_pool_are_not_medium():
    extreme = [one for one in ideal() if one["chains"] != 8]
    for chains in (2, 64):  # inference leads at first, then loses its weight to retrieval
        extreme = [one for one in extreme if one["chains"] != chains]
        extreme += [row(chains, 0, (0.5, 0.5, 0, 0)), row(chains, 100, (0, 0, 0.1, 0.9))]
        extreme += [row(chains, 1000, (0, 0, 0.9, 0.1), novel_gap=0.3)]
    assert claims.inference_is_transient.measure({"weights": extreme}).verdict == "not measured here"
    flat = [row(8, step, (0, 0, 0.1, 0.9)) for step in (0, 100, 1000)]
    assert claims.inference_is_transient.measure({"weights": extreme + flat}).verdict == "fails"


def test_each_of_the_four_leads_in_some_cell_once_something_is_learnt():
    retrieved = changed(8, 10, (0.6, 0.2, 0.1, 0.1), pool_gap=0.3)
    assert claims.each_leads_somewhere.measure(retrieved).verdict == "holds"
    found = claims.each_leads_somewhere.measure({"weights": ideal()})
    assert (found.verdict, found.detail.split(";")[0]) == ("fails", "unigram retrieval leads nowhere")
    uniform = changed(8, 10, (0.6, 0.2, 0.1, 0.1), pool_gap=0.4)  # nothing is learnt yet
    assert claims.each_leads_somewhere.measure(uniform).verdict == "fails"


@pytest.mark.parametrize(
    ("one", "narrow", "verdicts"),
    [
        (0.3, 0.3, ("holds", "holds")),
        (0.79, 0.79, ("trend holds, values differ",) * 2),
        (0.9, 0.9, ("fails", "fails")),
    ],
)
def test_architectures_are_compared_by_intervals(one, narrow, verdicts):
    rows = [
        row(64, 1000, (0, 0, 0.2, 0.8)),
        row(64, 1000, (0, 0, 0.2, one), layers=1),
        row(8, 1000, (0, 0, 0.8, 0.2)),
        row(8, 1000, (0, 0, narrow, 0.2), dimension=16),
    ]
    found = [claim.measure({"weights": rows}).verdict for claim in (claims.depth_matters, claims.width_matters)]
    assert tuple(found) == verdicts
    assert claims.width_matters.measure({"weights": rows[:3]}).detail.startswith("one of the two models is missing")


def test_borders_lie_where_the_lead_is_zero_on_a_logarithmic_scale():
    rows = [row(64, 1, (0, 0, 0.2, 0.8)), row(16, 1, (0, 0, 0.8, 0.2)), row(4, 1, (0, 0, 0.9, 0.1))]
    assert claims.border(rows) == pytest.approx([5.0] * 5)
    assert claims.border(rows[1:]) == []


@pytest.mark.parametrize(
    ("three", "narrow", "verdict"),
    [
        ((0, 0, 0.6, 0.4), (0, 0, 0.4, 0.6), "holds"),
        ((0, 0, 0.6, 0.4), (0, 0, 0.501, 0.499), "trend holds, values differ"),
        ((0, 0, 0.501, 0.499), (0, 0, 0.501, 0.499), "fails"),
        ((0, 0, 0.9, 0.1), (0, 0, 0.4, 0.6), "not measured here"),  # three layers have no border
    ],
)
def test_borders_are_compared_by_intervals(three, narrow, verdict):
    rows = []
    for kind, middle in ({}, (0, 0, 0.501, 0.499)), ({"layers": 3}, three), ({"dimension": 16}, narrow):
        last = middle if three[2] == 0.9 and kind == {"layers": 3} else (0, 0, 0.1, 0.9)
        rows += [row(8, 1, (0, 0, 0.9, 0.1), **kind), row(16, 1, middle, **kind), row(64, 1, last, **kind)]
    assert claims.architecture_moves_the_border.measure({"weights": rows}).verdict == verdict
