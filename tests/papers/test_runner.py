"""Every experiment at a tiny budget, the report, and damaged or foreign folders."""

import csv
import dataclasses
import json
import re

import numpy as np
import pytest

from anyorder.errors import InputError
from anyorder.io import atomic
from anyorder.io.trees import read_record, write_record
from anyorder.papers import registry
from anyorder.papers.experiment import Experiment, Result, Table, Task
from anyorder.papers.figure_data import AttentionMap, Chart, MapGrid, Plot, Series
from anyorder.papers.registry import EXPERIMENTS
from anyorder.papers.runner import FORM, KINDS, Record
from anyorder.training.config import Config


@pytest.mark.slow
def test_everything_at_a_tiny_budget(run, tmp_path):
    out = tmp_path / "report"
    code, text, error = run("reproduce", "--budget", "tiny", "--seeds", 1, "--out", out, "--json")
    report = json.loads(text)
    assert code == 0, report["failed"]
    assert list(report["experiments"]) == list(EXPERIMENTS)
    assert "about" in error  # every budget is stated before it starts

    page = (out / "index.html").read_text()
    assert not re.search(r'(src|href)="(https?:)?//', page)  # nothing from the network
    for id, entry in report["experiments"].items():
        assert f'id="{id}"' in page
        assert json.loads((out / id / "tables.json").read_text()) == entry["tables"]
        for name, rows in entry["tables"].items():
            with (out / id / f"{name}.csv").open() as stream:
                assert len(list(csv.DictReader(stream))) == len(rows) > 0
    pictures = {path.relative_to(out).with_suffix("") for path in out.rglob("*.png")}
    assert pictures == {path.relative_to(out).with_suffix("") for path in out.rglob("*.svg")}
    assert {path.parent.as_posix() for path in pictures} == set(EXPERIMENTS) - {"parameters"}
    for id in EXPERIMENTS:
        public = json.loads((out / f"{id}.json").read_text())
        assert public["tables"].keys() == report["experiments"][id]["tables"].keys()
        assert public["seeds"] == [0]
    assert page.count("data:image/png;base64,") == len(pictures)

    tables = {id: entry["tables"] for id, entry in report["experiments"].items()}
    for id in ("attention-maps", "depth", "depth-settings", "token-noise", "transition-noise", "bits"):
        public = json.loads((out / f"{id}.json").read_text())
        assert public["preset"] == "published"  # the authors' model is judged, and trained alone where time is short
        assert {row["preset"] for table in tables[id].values() for row in table} == {"published"}
    assert [row["layers"] for row in tables["depth"]["excess"]] == [1, 2]
    assert all(row["excess_mean"] > row["floor"] for row in tables["depth"]["excess"])
    for id in ("token-noise", "transition-noise"):
        first, last = tables[id]["excess"][0], tables[id]["excess"][-1]
        assert first["on_clean_mean"] == pytest.approx(first["excess_mean"])  # without noise all readings are one
        assert first["over_clean_mean"] == pytest.approx(first["excess_mean"])
        assert last["on_clean_mean"] != pytest.approx(last["excess_mean"], rel=1e-3)
    whole, half = (tables["token-noise"][name][-1] for name in ("excess", "any_token"))
    assert whole["excess_mean"] == pytest.approx(0, abs=0.01)  # half of the tokens replaced: a fair coin
    assert half["any_excess_mean"] > 0.01  # any token: half of the replacements change nothing
    assert whole["clean_less_true"] < half["clean_less_true"] < -0.05
    assert [row["bits"] for row in tables["bits"]["distance"]][:4] == ["2", "4", "8", "32"]
    needed = {(row["construction"], row["order"]): row["bits"] for row in tables["precision"]["bits"]}
    assert needed["two-layer", 2] > needed["two-layer", 1] + 2  # one head pays in bits
    assert needed["k-head", 2] <= needed["k-head", 1] + 1  # k heads do not
    assert tables["two-stage"]["facts"][0]["p_1_leads"]
    swept = [row["learned_excess"] for row in tables["two-stage"]["sweep"]]
    assert swept == sorted(swept, reverse=True)
    assert tables["preconditioned"]["limit"][0]["spread_of_p"] < 1e-9
    totals = [row for row in tables["parameters"]["three-layer"] if row["component"] == "total"]
    assert totals[0]["counted"] - totals[0]["printed"] == 2 * 15  # E6, with d = 15

    # The same command again keeps everything except the damaged parts.
    damaged = out / "table-1" / "result.safetensors"
    damaged.write_bytes(damaged.read_bytes()[:-10])
    code, text, _ = run("reproduce", "--budget", "tiny", "--seeds", 1, "--out", out, "--json")
    again = json.loads(text)["experiments"]
    assert code == 0
    assert [id for id, entry in again.items() if not entry["kept"]] == ["table-1"]
    assert {id: entry["tables"] for id, entry in again.items()} == tables


def test_a_failing_experiment_is_named_and_the_others_go_on(run, tmp_path, monkeypatch):
    def fail(task: Task) -> Result:
        raise RuntimeError("the disk is full\nof sand")

    def fine(task: Task) -> Result:
        task.watch(0.5, "half")
        plot = Plot("A line.", [Chart("x", "y", [Series("s", [0, 1], [1.0, 2.0])])])
        return Result({"numbers": Table("Numbers.", [{"a": 1, "b": None}, {"a": 2, "b": 0.5}])}, {"line": plot})

    cost = {"tiny": 0.1, "quick": 0.1, "paper": 0.1}
    made = {
        id: Experiment(id, id, "nowhere", cost, function, "says") for id, function in (("bad", fail), ("good", fine))
    }
    monkeypatch.setattr(registry, "EXPERIMENTS", made)
    out = tmp_path / "report"
    code, text, _ = run("reproduce", "--out", out, "--json")
    report = json.loads(text)
    assert code == 1
    assert report["failed"] == {"bad": "RuntimeError: the disk is full"}
    assert report["experiments"]["good"]["tables"] == {"numbers": [{"a": 1, "b": None}, {"a": 2, "b": 0.5}]}
    assert "This experiment failed" in (out / "index.html").read_text()
    assert "of sand" in (out / "bad" / "error.txt").read_text()

    monkeypatch.setitem(made, "bad", dataclasses.replace(made["bad"], run=fine))
    code, text, _ = run("reproduce", "--out", out, "--json")
    again = json.loads(text)["experiments"]
    assert code == 0
    assert (again["bad"]["kept"], again["good"]["kept"]) == (False, True)
    assert not (out / "bad" / "error.txt").exists()

    def refuse(task: Task) -> Result:
        raise InputError("too many seeds; pass fewer")

    monkeypatch.setitem(made, "bad", dataclasses.replace(made["bad"], run=refuse))
    code, text, error = run("reproduce", "bad", "--out", tmp_path / "refused")
    assert (code, text) == (2, "")
    assert error.endswith("anyorder: too many seeds; pass fewer\n")
    assert not (tmp_path / "refused" / "bad").exists()
    code, _, error = run("reproduce", "good", "--seeds", 10**12, "--out", tmp_path / "many")
    assert code == 2
    assert "1000000000000 models of each kind would need about" in error
    assert not (tmp_path / "many").exists()


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (b'{"budget": "quick"', "is not valid JSON"),
        (b"[]", "contains [], must be an object"),
        (b'{"seeds": 3}', "has no budget"),
        (b"\xff", "is not valid JSON"),
    ],
)
def test_a_damaged_manifest_is_one_line(run, tmp_path, content, said):
    (tmp_path / "reproduce.json").write_bytes(content)
    code, _, error = run("reproduce", "table-1", "--out", tmp_path)
    assert code == 2
    assert f"{tmp_path / 'reproduce.json'} {said}" in error
    assert (tmp_path / "reproduce.json").read_bytes() == content


def test_a_report_that_is_being_made_is_left_alone(run, tmp_path):
    with atomic.locked(tmp_path / "report"):
        code, _, error = run("reproduce", "table-1", "--out", tmp_path / "report")
    assert code == 2
    assert "is in use by process " in error


def test_a_folder_with_other_files_is_refused(run, tmp_path):
    (tmp_path / "thesis.tex").write_text("precious")
    code, _, error = run("reproduce", "table-1", "--out", tmp_path)
    assert code == 2
    assert "already contains other files" in error
    assert [path.name for path in tmp_path.iterdir()] == ["thesis.tex"]


def test_a_result_is_kept_whole(tmp_path):
    maps = MapGrid("A map.", [[AttentionMap("m", np.eye(2), np.arange(2))]])
    table = Table("A caption.", [{"a": 1.5, "b": "x", "seeds": [1.0, 2.0]}])
    result = Result({"t": table}, {"m": maps}, ("note",), {"T": 3}, "paper", Config(seed=2))
    record = Record(result, "tiny", 1, {"jax": "1"})
    write_record(tmp_path / "r.safetensors", record, FORM)
    found = read_record(tmp_path / "r.safetensors", FORM, KINDS)
    assert dataclasses.replace(found, result=dataclasses.replace(found.result, figures={})) == dataclasses.replace(
        record, result=dataclasses.replace(result, figures={})
    )
    np.testing.assert_array_equal(found.result.figures["m"].grid[0][0].values, np.eye(2))
