"""Results at the paper's budget are complete: all of the paper's steps and seeds."""

import dataclasses
import itertools
import json
import math

import numpy as np
import pytest

from anyorder.papers import results
from anyorder.papers.experiment import Experiment, Result, Table
from anyorder.papers.paper import RESULTS
from anyorder.papers.runner import Record
from anyorder.papers.two_can.printed import Printed
from anyorder.sweeps.analysis import Spread
from anyorder.training import config as configs
from anyorder.training import config_text
from benchmarks.pages.recorded import read_recorded, typed_tables

FILES = sorted((RESULTS / "paper").glob("*.json"))
#: Experiments that take fewer seeds than five.
SEEDS = {"presets": 3, "grid": 1, "unknown-order": 8, "depth-settings": 1}
#: Steps of the first model, where they are not the paper's.
STEPS = {"unknown-order": 2000}


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_a_recorded_result_is_whole_and_of_the_papers_budget(path):
    found = read_recorded(path.stem)
    assert found["id"] == path.stem
    steps = STEPS.get(path.stem, 30_000)
    assert (found["budget"], found["steps"]) == ("paper", steps)
    assert found["seeds"] == list(range(SEEDS.get(path.stem, 5)))
    config = config_text.from_json(found["config"])
    assert (config.optimisation.steps, config.seeds) == (steps, len(found["seeds"]))
    assert found["preset"] in configs.PRESETS
    assert found["minutes"] > 0
    assert {"jax", "python", "anyorder"} <= set(found["versions"])
    for name in found["figures"]:
        assert (RESULTS / "paper" / path.stem / f"{name}.png").read_bytes()[:4] == b"\x89PNG"
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


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_tables_are_written_as_they_were_read(path):
    found = read_recorded(path.stem)
    typed = typed_tables(found)
    for name, table in found["tables"].items():
        rows = results.expanded(typed[name])
        assert [{column: row.get(column) for column in table["rows"][0]} for row in rows] == table["rows"]
        assert not any(column.endswith(("_mean", "_std")) for row in typed[name] for column in row)


@pytest.mark.parametrize("id", ["attention-maps", "depth", "bits"])
def test_the_authors_model_is_judged_and_stands_first(id):
    found = read_recorded(id)
    assert found["preset"] == "published"
    for name, table in found["tables"].items():
        presets = [row["preset"] for row in table["rows"]]
        assert presets[0] == "published"
        assert name in ("spectrum", "one_layer") or "paper" in presets  # recorded rows of the others are beside it
    (earlier,) = found["earlier"]
    assert "published" not in earlier["presets"]
    assert earlier["versions"]["anyorder"] == "0.1.0"


def test_uniform_attention_stands_beside_every_distance():
    """Where tokens are a fair coin a model learns uniform attention, so that both distances are the same."""
    for id, name in itertools.product(("token-noise", "transition-noise", "bits", "attention-maps", "presets"), (
        "excess", "any_token", "distance", "attention",
    )):  # fmt: skip
        table = (read_recorded(id) or {"tables": {}})["tables"].get(name)
        for row in table["rows"] if table else ():
            assert 1 < row["uniform_distance"] < 4
    coin = read_recorded("token-noise")["tables"]["excess"]["rows"][-1]
    assert coin["uniform_distance"] == pytest.approx(coin["distance_mean"], rel=1e-6)


def test_the_json_of_a_record_can_be_read_back(tmp_path):
    excess = Spread(0.131, None, [0.131])
    row = {"layers": 1, "excess": excess, **Printed(0.131, 0.0).beside("excess", excess)}
    result = Result(
        {"excess": Table("A table.", [row])},
        preset="paper",
        config=dataclasses.replace(configs.PRESETS["paper"], seeds=2),
    )
    experiment = Experiment("depth", "Depth", "App. H.2", {}, lambda task: result)
    plain = results.public(experiment, Record(result, "paper", 2, {"jax": "1"}), 90.0)
    (tmp_path / "depth.json").write_text(json.dumps(plain))
    found = read_recorded("depth", tmp_path)
    assert found == plain
    (written,) = found["tables"]["excess"]["rows"]
    assert list(written) == [
        "layers", "excess_mean", "excess_std", "excess_seeds", "printed", "excess_difference", "excess_agrees",
    ]  # fmt: skip
    assert typed_tables(found) == {"excess": [row]}
    assert (found["minutes"], found["steps"], found["seeds"]) == (1.5, 30_000, [0, 1])
    assert found["verdict"]["agree"] == {"excess": "1 of 1"}
    assert read_recorded("bits", tmp_path) is None
