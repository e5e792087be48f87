"""Interventions on the construction, whose mechanism is known."""

import dataclasses
import json
from pathlib import Path

import numpy as np
import pytest

from anyorder.constructions import construct
from anyorder.papers.own.mechanism import DATA, interventions, sentences, statements
from anyorder.training.reference import held_out


@pytest.fixture(scope="module")
def found():
    model = construct("two-layer", order=2, alphabet_size=2, length=DATA.length)
    tokens = np.asarray(held_out(DATA, 32).tokens)[:, :-1]
    return interventions(dataclasses.replace(model, certificate=None), tokens)


def test_the_key_is_its_window_and_the_query_is_shifted_by_one(found):
    assert found["key_side"] == pytest.approx([1, 0, 0, 1, 1], abs=0.1)
    assert found["query_side"] == pytest.approx([0, 0, 1, 1, 1], abs=0.1)


def test_without_the_direction_of_the_oldest_token_matching_is_lost(found):
    assert found["on_matches"] > 0.99
    assert found["on_matches_without"][2] < min(found["on_matches_without_random"])


def test_a_statement_holds_if_seven_of_eight_models_satisfy_it(found):
    """The construction compares the window and needs the direction; a model without comparison does neither."""
    said = "two-layer (8 models): compares all k tokens of key and query; has dropped the oldest token of the query; "
    last = "loses more without that direction than without any random one."
    right, wrong = {"model": "two-layer", **found}, {"model": "two-layer", **found, "key_side": [1.0] * 5}
    assert list(sentences([right] * 7 + [wrong])) == [said + last]
    assert not next(sentences([right] * 6 + [wrong] * 2)).startswith(said[:40])
    compares, _, survives, _ = statements([right] * 6 + [wrong] * 2)
    assert (compares["models"], compares["of"], survives["models"]) == (6, 8, 0)
    assert compares["from"] < 0.75 < compares["to"]


def test_the_page_says_what_is_on_record():
    root = Path(__file__).parents[3]
    rows = json.loads((root / "results" / "own" / "mechanism.json").read_text(encoding="utf-8"))["tables"]
    page = (root / "docs" / "probe.md").read_text(encoding="utf-8")
    counted = {}
    for row in rows["statements"]["rows"]:
        counted.setdefault(row["statement"], []).append(row)
    for statement, (built, *trained) in counted.items():
        cells = ["yes" if built["models"] else "no", *(f"{row['models']} of {row['of']}" for row in trained)]
        assert f"| {statement} | {' | '.join(cells)} |" in page
    assert [row["models"] for row in statements(rows["mechanism"]["rows"])] == [
        row["models"] for row in rows["statements"]["rows"]
    ]
