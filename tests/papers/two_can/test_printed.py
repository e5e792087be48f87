"""Verdicts next to the printed values."""

import itertools
import math

import pytest

from anyorder.papers import results
from anyorder.papers.two_can import printed
from anyorder.papers.two_can.printed import BITS, DEPTH, JUDGED, TOKEN_NOISE, TRANSITION_NOISE
from benchmarks.pages.recorded import read_recorded, typed_tables

#: The printed values, by table and the column that names the row.
PRINTED = {
    ("depth", "excess", "layers"): DEPTH,
    ("token-noise", "excess", "level"): TOKEN_NOISE,
    ("transition-noise", "excess", "level"): TRANSITION_NOISE,
    ("bits", "distance", "bits"): BITS,
}


@pytest.mark.parametrize(
    ("place", "values"), PRINTED.items(), ids=lambda value: "-".join(value) if type(value) is tuple else ""
)
def test_verdicts_are_those_of_the_rule(place, values):
    id, table, level = place
    found = read_recorded(id)
    assert found is not None
    rows = found["tables"][table]["rows"]
    assert set(values) <= {row[level] for row in rows if row.get("preset", JUDGED) == JUDGED}
    for row in rows:
        if row["printed"] is None:  # a format that the paper does not have, or the preset `floor`
            continue
        wanted = values[row[level]]
        assert row["printed"] == str(wanted)
        for column in [name for name in row if name.endswith("_agrees")]:
            name = column.removesuffix("_agrees")
            over = 10 if id == "bits" else 1  # there ± is over sequences
            allowed = 2 * math.hypot(row[f"{name}_std"], wanted.deviation) / math.sqrt(over) + wanted.rounding
            assert row[f"{name}_difference"] == pytest.approx(row[f"{name}_mean"] - wanted.mean)
            assert row[column] == (abs(row[f"{name}_mean"] - wanted.mean) <= allowed)
    typed = itertools.chain(*typed_tables(found).values())
    assert found["verdict"] == results.verdict(typed, found["preset"], printed.RULE)
