"""What is recorded at the paper's budget: whole, of the paper's steps and seeds, and judged by the stated rule."""

import dataclasses
import itertools
import json
import math
import pathlib
import re

import numpy as np
import pytest

from anyorder.experiments import attention_maps, printed, recorded
from anyorder.experiments.experiment import Experiment, Result, Table
from anyorder.experiments.printed import BITS, DEPTH, TOKEN_NOISE, TRANSITION_NOISE, Printed
from anyorder.experiments.registry import EXPERIMENTS
from anyorder.experiments.runner import Record
from anyorder.report.recorded import RECORDED, markdown, regenerated
from anyorder.training import config as configs
from anyorder.training import forms

FILES = sorted(recorded.FOLDER.glob("*.json"))
#: What stands in print, by table and the column that names the row.
PRINTED = {
    ("depth", "excess", "layers"): DEPTH,
    ("token-noise", "excess", "level"): TOKEN_NOISE,
    ("transition-noise", "excess", "level"): TRANSITION_NOISE,
    ("bits", "distance", "bits"): BITS,
}
#: Experiments that take fewer seeds than five.
SEEDS = {"presets": 3, "grid": 1, "unknown-order": 1}
#: Steps of the first model, where they are not the paper's.
STEPS = {"unknown-order": 2000}


def test_only_what_the_page_shows_is_recorded():
    assert {path.stem for path in FILES} <= set(RECORDED) <= set(EXPERIMENTS)


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_a_recorded_result_is_whole_and_of_the_papers_budget(path):
    found = recorded.read_recorded(path.stem)
    assert found["id"] == path.stem
    steps = STEPS.get(path.stem, 30_000)
    assert (found["budget"], found["steps"]) == ("paper", steps)
    assert found["seeds"] == list(range(SEEDS.get(path.stem, 5)))
    config = forms.from_json(found["config"])
    assert (config.optimisation.steps, config.seeds) == (steps, len(found["seeds"]))
    assert found["preset"] in configs.PRESETS
    assert found["minutes"] > 0
    assert {"jax", "python", "anyorder"} <= set(found["versions"])
    for name in found["figures"]:
        assert (recorded.FOLDER / path.stem / f"{name}.png").read_bytes()[:4] == b"\x89PNG"
    assert path.stat().st_size < 200_000
    for table in found["tables"].values():
        for row in table["rows"]:
            assert not any(isinstance(value, float) and math.isnan(value) for value in row.values())
            for column in [name for name in row if name.endswith("_seeds") and isinstance(row[name], list)]:
                values, name = row[column], column.removesuffix("_seeds")
                assert row[f"{name}_mean"] == pytest.approx(np.mean(values))
                if path.stem != "bits" and len(values) > 1:  # there ± is over sequences; one seed has none
                    assert len(values) in (len(found["seeds"]), 5)
                    assert row[f"{name}_std"] == pytest.approx(np.std(values, ddof=1))


@pytest.mark.parametrize(
    ("place", "values"), PRINTED.items(), ids=lambda value: "-".join(value) if type(value) is tuple else ""
)
def test_verdicts_are_those_of_the_rule(place, values):
    id, table, level = place
    found = recorded.read_recorded(id)
    assert found is not None
    rows = {row[level]: row for row in found["tables"][table]["rows"]}
    assert set(values) <= set(rows)
    for key, wanted in values.items():
        row = rows[key]
        assert row["printed"] == str(wanted)
        for column in [name for name in row if name.endswith("_agrees")]:
            name = column.removesuffix("_agrees")
            over = 10 if id == "bits" else 1  # there ± is over sequences
            allowed = 2 * math.hypot(row[f"{name}_std"], wanted.deviation) / math.sqrt(over) + wanted.rounding
            assert row[f"{name}_difference"] == pytest.approx(row[f"{name}_mean"] - wanted.mean)
            assert row[column] == (abs(row[f"{name}_mean"] - wanted.mean) <= allowed)
    assert found["verdict"] == recorded.verdict(found["tables"])
    assert found["verdict"]["rule"] == printed.RULE


def test_the_page_is_made_from_the_files():
    written = (pathlib.Path(__file__).parents[2] / "docs" / "reproduce.md").read_text(encoding="utf-8")
    assert regenerated(written) == written, "python -m benchmarks.results"
    assert set(re.findall(r"<!-- part: (\w+) -->", written)) == {"experiments", "recorded", "differences"}
    emptied = re.sub(r"(<!-- part: \w+ -->\n).*?(?=<!-- end -->)", r"\1", written, flags=re.DOTALL)
    assert len(emptied) < len(written) / 2
    assert regenerated(emptied) == written


def test_every_column_of_a_record_is_shown():
    """Only the deviation and the seeds of a mean have no column of their own, and what no row has."""
    for id in RECORDED:
        found = recorded.read_recorded(id)
        for table in found["tables"].values() if found else ():
            rows = table["rows"]
            shown = [cell.strip() for cell in markdown(rows).splitlines()[0].strip("|").split("|")]
            for column in rows[0]:
                stem, _, end = column.rpartition("_")
                if any(row[column] is not None for row in rows):
                    in_mean = end in ("std", "seeds") and f"{stem}_mean" in rows[0]
                    assert (stem if stem and (in_mean or end == "mean") else column).replace("_", " ") in shown, (
                        id,
                        column,
                    )
            for named in re.findall("`(\\w+)`", table["caption"]):
                assert named.replace("_", " ") in shown, (id, named)


def test_uniform_attention_stands_beside_every_distance():
    """Where tokens are a fair coin a model learns uniform attention, so that both distances are the same."""
    for id, name in itertools.product(("token-noise", "transition-noise", "bits", "attention-maps", "presets"), (
        "excess", "any_token", "distance", "distance_floor", "attention",
    )):  # fmt: skip
        table = (recorded.read_recorded(id) or {"tables": {}})["tables"].get(name)
        for row in table["rows"] if table else ():
            assert 1 < row["uniform_distance"] < 4
    coin = recorded.read_recorded("token-noise")["tables"]["excess"]["rows"][-1]
    assert coin["uniform_distance"] == pytest.approx(coin["distance_mean"], rel=1e-6)


def test_overlap_counts_the_pairs_of_contexts():
    tables = {name: table["rows"] for name, table in recorded.read_recorded("attention-maps")["tables"].items()}
    for row in tables["overlap"]:
        about = {"preset": row["preset"], "order": row["order"]}
        pairs = [pair for pair in tables["confused"] if pair | about == pair]
        assert attention_maps.overlap(about, pairs, seeds=5) == row
        assert len(pairs) == math.comb(2 ** row["order"], 2)


def test_one_weight_cannot_rise():
    rows = recorded.read_recorded("attention-maps")["tables"]["attention"]["rows"]
    assert {row["seeds_that_rise_to_k"] is None for row in rows if row["order"] == 1} == {True}
    assert {row["seeds_that_rise_to_k"] is None for row in rows if row["order"] > 1} == {False}


def test_the_json_of_a_record_can_be_read_back(tmp_path):
    row = {"layers": 1, "excess_mean": 0.131, "excess_std": None, "excess_seeds": [0.131]}
    row |= Printed(0.131, 0.0).beside("excess", row)
    result = Result(
        {"excess": Table("A table.", [row])},
        preset="paper",
        config=dataclasses.replace(configs.PRESETS["paper"], seeds=2),
    )
    experiment = Experiment("depth", "Depth", "App. H.2", None, None, {}, lambda task: result)
    plain = recorded.public(experiment, Record(result, "paper", 2, {"jax": "1"}), 90.0)
    (tmp_path / "depth.json").write_text(json.dumps(plain))
    found = recorded.read_recorded("depth", tmp_path)
    assert found == plain
    assert (found["minutes"], found["steps"], found["seeds"]) == (1.5, 30_000, [0, 1])
    assert found["verdict"]["agree"] == {"excess": "1 of 1"}
    assert recorded.read_recorded("bits", tmp_path) is None
