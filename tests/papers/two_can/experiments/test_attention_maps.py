"""Numbers beside the attention maps, on the recorded tables."""

import math

from anyorder.papers import results
from anyorder.papers.two_can.experiments.attention_maps import overlap


def test_overlap_counts_the_pairs_of_contexts():
    tables = {name: table["rows"] for name, table in results.read_recorded("attention-maps")["tables"].items()}
    for row in tables["overlap"]:
        about = {"preset": row["preset"], "order": row["order"]}
        pairs = [pair for pair in tables["confused"] if pair | about == pair]
        assert overlap(about, pairs, seeds=5) == row
        assert len(pairs) == math.comb(2 ** row["order"], 2)


def test_one_weight_cannot_rise():
    rows = results.read_recorded("attention-maps")["tables"]["attention"]["rows"]
    assert {row["seeds_that_rise_to_k"] is None for row in rows if row["order"] == 1} == {True}
    assert {row["seeds_that_rise_to_k"] is None for row in rows if row["order"] > 1} == {False}
