"""Numbers beside the attention maps, on the recorded tables."""

import math

from anyorder.papers.two_can.experiments.attention_maps import overlap
from benchmarks.pages.recorded import read_recorded


def test_overlap_counts_the_pairs_of_contexts():
    tables = {name: table["rows"] for name, table in read_recorded("attention-maps")["tables"].items()}
    for row in tables["overlap"]:
        about = {"preset": row["preset"], "order": row["order"]}
        pairs = [pair for pair in tables["confused"] if pair | about == pair]
        assert overlap(about, pairs, seeds=5) == row
        assert len(pairs) == math.comb(2 ** row["order"], 2)


def test_one_weight_cannot_rise():
    rows = read_recorded("attention-maps")["tables"]["attention"]["rows"]
    assert {row["seeds_that_rise_to_k"] is None for row in rows if row["order"] == 1} == {True}
    assert {row["seeds_that_rise_to_k"] is None for row in rows if row["order"] > 1} == {False}


def test_counts_of_seeds_are_those_of_the_weights():
    tables = {name: table["rows"] for name, table in read_recorded("attention-maps")["tables"].items()}
    for row in tables["attention"]:
        order = row["order"]
        own = [one for one in tables["offsets"] if (one["preset"], one["order"]) == (row["preset"], order)]
        seeds = list(zip(*(one["weight_seeds"] for one in own), strict=True))
        assert row["seeds_that_end_at_k"] == sum(seed[order + 1] < seed[order] / 2 for seed in seeds)
        if order > 1:
            rising = sum(all(seed[i] < seed[i + 1] for i in range(1, order)) for seed in seeds)
            assert row["seeds_that_rise_to_k"] == rising
        inside = sum(sum(seed[1 : order + 1]) for seed in seeds) / len(seeds)
        assert math.isclose(row["layer_1_on_last_k"], inside)


def test_the_authors_model_looks_back_where_ours_does_not():
    """At order 1 preset `paper` has no head of the previous token; the paper's figure is of the authors' model."""
    rows = read_recorded("attention-maps")["tables"]["offsets"]["rows"]
    first = {row["preset"]: row["weight_seeds"] for row in rows if (row["order"], row["offset"]) == (1, 1)}
    assert min(first["published"]) > 0.5
    assert max(first["paper"]) < 0.1
