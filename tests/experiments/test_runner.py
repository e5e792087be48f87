"""Every experiment at a tiny budget, the report, and what happens when something is in the way."""

import csv
import dataclasses
import json
import re

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from anyorder import files
from anyorder.experiments import registry
from anyorder.experiments.experiment import Experiment, Result, Table, Task, read_result, write_result
from anyorder.experiments.noise import clean_loss
from anyorder.experiments.registry import EXPERIMENTS
from anyorder.experiments.rounding import rounded, to_levels
from anyorder.training.config import Data


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
    pictures = {path.relative_to(out).with_suffix("") for path in out.glob("*/*.png")}
    assert pictures == {path.relative_to(out).with_suffix("") for path in out.glob("*/*.svg")}
    assert {path.parts[0] for path in pictures} == set(EXPERIMENTS) - {"parameters"}
    assert page.count("data:image/png;base64,") == len(pictures)

    tables = {id: entry["tables"] for id, entry in report["experiments"].items()}
    one, two = tables["depth"]["excess"]
    assert one["excess_mean"] > two["excess_mean"] + 0.003  # two layers beat one
    for id in ("token-noise", "transition-noise"):
        first, last = tables[id]["excess"][0], tables[id]["excess"][-1]
        assert last["over_clean_mean"] > first["over_clean_mean"] + 0.01  # more noise, larger gap
        assert last["matching_mass"] < first["matching_mass"]
    bits = {row["bits"]: row["distance_mean"] for row in tables["bits"]["distance"]}
    assert abs(bits["8"] - bits["32"]) < abs(bits["2"] - bits["32"])
    needed = {(row["construction"], row["order"]): row["bits"] for row in tables["precision"]["bits"]}
    assert needed["two-layer", 2] > needed["two-layer", 1] + 2  # one head pays in bits
    assert needed["k-head", 2] <= needed["k-head", 1] + 1  # k heads do not
    assert tables["two-stage"]["facts"][0]["p_1_leads"]
    swept = [row["learned_excess"] for row in tables["two-stage"]["sweep"]]
    assert swept == sorted(swept, reverse=True)
    assert tables["preconditioned"]["limit"][0]["spread_of_p"] < 1e-9
    totals = [row for row in tables["parameters"]["three-layer"] if row["component"] == "total"]
    assert totals[0]["counted"] - totals[0]["printed"] == 2 * 15  # E6, with d = 15

    # The same command again: all is kept, except what was damaged.
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
        return Result({"numbers": Table("Numbers.", [{"a": 1, "b": None}, {"a": 2, "b": 0.5}])}, {"x": np.ones(2)})

    cost = {"tiny": 0.1, "quick": 0.1, "paper": 0.1}
    made = {
        id: Experiment(id, id, "nowhere", "says", None, cost, function)
        for id, function in (("bad", fail), ("good", fine))
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


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("depht",), "no experiment 'depht'; there are table-1"),
        (("table-1", "--seeds", 0), "seeds is 0, must be at least 1"),
        (("table-1", "--seeds", 2), "holds results of budget quick with 3 seeds, this is budget quick with 2"),
    ],
)
def test_bad_input(run, tmp_path, words, said):
    (tmp_path / "reproduce.json").write_text('{"budget": "quick", "seeds": 3}')
    code, _, error = run("reproduce", *words, "--out", tmp_path)
    assert code == 2
    assert said in error
    assert [path.name for path in tmp_path.iterdir()] == ["reproduce.json"]


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (b'{"budget": "quick"', "is not whole JSON"),
        (b"[]", "holds [], must be an object"),
        (b'{"seeds": 3}', "has no budget"),
        (b"\xff", "is not whole JSON"),
    ],
)
def test_a_damaged_manifest_is_one_line(run, tmp_path, content, said):
    (tmp_path / "reproduce.json").write_bytes(content)
    code, _, error = run("reproduce", "table-1", "--out", tmp_path)
    assert code == 2
    assert f"{tmp_path / 'reproduce.json'} {said}" in error
    assert (tmp_path / "reproduce.json").read_bytes() == content


def test_a_report_that_is_being_made_is_left_alone(run, tmp_path):
    with files.locked(tmp_path / "report"):
        code, _, error = run("reproduce", "table-1", "--out", tmp_path / "report")
    assert code == 2
    assert "is in use by process " in error


def test_a_folder_with_other_files_is_refused(run, tmp_path):
    (tmp_path / "thesis.tex").write_text("precious")
    code, _, error = run("reproduce", "table-1", "--out", tmp_path)
    assert code == 2
    assert "already holds other files" in error
    assert [path.name for path in tmp_path.iterdir()] == ["thesis.tex"]


def test_a_result_is_kept_whole(tmp_path):
    result = Result({"t": Table("A caption.", [{"a": 1.5, "b": "x"}])}, {"x": np.arange(3.0)}, ("note",), {"T": 3})
    write_result(tmp_path / "r.safetensors", result, {"seconds": 2.0})
    found, about = read_result(tmp_path / "r.safetensors")
    assert (found.tables, found.notes, found.settings, about) == (result.tables, ("note",), {"T": 3}, {"seconds": 2.0})
    np.testing.assert_array_equal(found.arrays["x"], np.arange(3.0))


def test_an_interrupted_training_goes_on(tmp_path):
    from anyorder.experiments.experiment import digest, published

    task = Task("tiny", 1, tmp_path)
    config = published(task, Data(order=1, length=4))
    folder = tmp_path / digest(config)
    folder.mkdir()
    (folder / f"{files.UNFINISHED}abc.json").write_text("half")  # stopped before its first file was whole
    first = task.train(config)
    again = task.train(config)
    assert first.finished
    assert first.summary.models == again.summary.models


def test_rounding_touches_the_operands_of_products_only():
    weights = jnp.asarray([[0.9, 0.1], [0.2, -1.0]], jnp.float64)
    given = jnp.asarray([0.3, 0.8], jnp.float64)
    halves = lambda values: jnp.round(2 * values) / 2  # noqa: E731

    def function(weights, given):
        return jax.jit(lambda weights, given: jax.nn.softmax(weights @ given))(weights, given) + 0.3

    found = rounded(function, halves, products_only=True)(weights, given)
    w, x = np.round(2 * np.asarray(weights)) / 2, np.round(2 * np.asarray(given)) / 2
    scores = np.exp(w @ x)
    np.testing.assert_allclose(found, scores / scores.sum() + 0.3, rtol=1e-12)
    all_rounded = np.asarray(rounded(function, halves, products_only=False)(weights, given))
    np.testing.assert_array_equal(all_rounded, np.round(2 * all_rounded) / 2)


@pytest.mark.parametrize("bits", [2, 4, 8])
def test_levels_are_as_many_as_the_bits_say(bits):
    values = np.asarray(to_levels(bits)(jnp.linspace(-1, 1, 10_001, dtype=jnp.float64)))
    assert len(np.unique(values)) == 2**bits - 1


def test_the_clean_loss_is_the_entropy_of_the_kernel_at_its_contexts():
    data = Data(order=2, length=16, token_noise=0.25)
    from anyorder.training.evaluation import held_out

    drawn = held_out(data, 50)
    losses = []
    for kernel, clean in zip(np.asarray(drawn.kernels), np.asarray(drawn.clean), strict=True):
        rows = [kernel[tuple(clean[n - 2 : n])] for n in range(2, len(clean))]
        losses.append(np.mean([-(row[row > 0] * np.log(row[row > 0])).sum() for row in rows]))
    assert clean_loss(data, 50) == pytest.approx(np.mean(losses), rel=1e-9)
