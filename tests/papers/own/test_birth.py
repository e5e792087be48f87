"""The step at which a head forms, and stages."""

import json
from pathlib import Path

import numpy as np

from anyorder.papers.own.birth import Setting, born, has_stage
from anyorder.sweeps.analysis import wilson


def test_a_step_that_never_comes_has_no_date():
    steps = np.array([0.0, 100.0, 200.0])
    spectrum = np.array([[1, 1, 1], [0.5, 1.5, 1.5], [0.2, 2.0, 2.1]])
    assert born(steps, spectrum, 1) == 100
    assert born(steps, spectrum, 2) is None


def test_a_stage_is_long_near_and_nearer_than_every_other_order():
    to_floor = np.array([0.2, 0.1, 0.0])
    far = np.full((40, 3), 0.5)

    def waiting(times, distance):
        walk = far.copy()
        walk[10 : 10 + times, 1] = distance
        return walk

    assert has_stage(waiting(3, 0.02), to_floor, 1)
    assert not has_stage(waiting(2, 0.02), to_floor, 1)  # too short
    assert not has_stage(waiting(3, 0.03), to_floor, 1)  # farther than a quarter of 0.1
    nearer = waiting(3, 0.02)
    nearer[11, 2] = 0.01  # the whole order is nearer in the middle
    assert not has_stage(nearer, to_floor, 1)
    slow = np.repeat(waiting(3, 0.02), 3, axis=0)
    slow[36:, 1] = 0.5  # six of 120 measurements, a twentieth
    assert has_stage(slow, to_floor, 1)
    slow[35, 1] = 0.5
    assert not has_stage(slow, to_floor, 1)


def test_the_page_says_what_is_on_record():
    """No model of any setting has a stage at a shorter order, and the head forms in every setting."""
    root = Path(__file__).parents[3]
    tables = json.loads((root / "results" / "own" / "birth.json").read_text(encoding="utf-8"))["tables"]
    page = (root / "docs" / "probe.md").read_text(encoding="utf-8")
    stages = tables["stages"]["rows"]
    assert all(row["seeds_with_stage"] == 0 for row in stages)
    assert all(len(row["closest_seeds"]) == 8 for row in stages)
    models = 8 * len({tuple(row[name] for name in Setting._fields) for row in stages})
    said, (one, every) = " ".join(page.split()), (100 * wilson(0, count)[1] for count in (8, models))
    assert f"None of {models} models pauses at a shorter order" in said
    assert f"at most {one:.0f}% of the models of one setting do, and at most {every:.0f}% of all models" in said
    for row in tables["born"]["rows"]:
        if row["match_length"] == row["order"]:
            came = f"| {row['step_mean']:.0f} ± {row['step_std']:.0f} ({row['seeds_where_it_came']} of 8) |"
            start = f"| {row['order']} | {row['alphabet_size']} | {row['length']} | {row['rate']:g} |"
            assert any(line.startswith(start) and line.endswith(came) for line in page.splitlines())
