"""The folders of the explorer: listed and opened entries; paths that lead out, pipes, names that are too long."""

from __future__ import annotations

import json
import os
import re
import shutil
import time

import numpy as np
import pytest
from fastapi.testclient import TestClient

import anyorder
from anyorder.constructions import CONSTRUCTIONS
from anyorder.errors import InputError
from anyorder.io.trees import write_tensors
from anyorder.models.storage import FORMAT
from anyorder.papers.experiment import Result, Task, experiment
from anyorder.papers.runner import run_all
from anyorder.training.folder import CHECKPOINT, CONFIG
from anyorder.web import library as web_library
from anyorder.web import probe
from anyorder.web.app import create_app
from anyorder.web.library import Library, Refused
from anyorder.web.schema import Stored, Text, ViewRequest
from anyorder.web.view import Explorer
from tests.web import exploring, hostile
from tests.web.exploring import matrix, refused


@pytest.fixture
def library(tmp_path):
    (tmp_path / "models" / "run").mkdir(parents=True)
    return Library([tmp_path / "models"])


@pytest.fixture(scope="module")
def visited(tmp_path_factory):
    """A folder with a model, and a client of the explorer over it."""
    folder = tmp_path_factory.mktemp("visited") / "models"
    folder.mkdir()
    exploring.write_trajectory(folder / "trajectory.npz", steps=4)
    with TestClient(create_app([folder]), base_url="http://localhost", raise_server_exceptions=False) as opened:
        yield folder, opened


@pytest.mark.parametrize("name", hostile.ENTRIES)
def test_a_hostile_entry_is_listed_with_the_reason_and_the_page_lives(visited, name):
    folder, client = visited
    entry = folder / "entry"
    entry.mkdir()
    try:
        hostile.ENTRIES[name](entry)
        begun = time.monotonic()
        with hostile.little_memory(hostile.BOMB // 2):
            options, probes = (client.get(f"/api/{path}") for path in ("options", "probes"))
        assert (options.status_code, probes.status_code) == (200, 200)
        stored = [one["path"] for one in options.json()["stored"] if not one["path"].startswith(("package/", "zoo/"))]
        assert "models/trajectory.npz" in stored
        left_out = options.json()["left_out"] + [one for one in probes.json() if one["why"]]
        told = {*stored, *(one["path"] for one in left_out)} - {"models/trajectory.npz"}
        assert bool(told) == (name not in hostile.UNLISTED)
        for one in left_out:
            assert one["why"]
            assert one["why"].isprintable()
            assert str(folder) not in one["why"]
        for path in told:
            refused(client.post("/api/view", json={"model": {"kind": "stored", "path": path}}))
            refused(client.post("/api/probe", json={"path": path}))
            refused(client.post("/api/dynamics", json={"run": {"kind": "stored", "path": path}}))
        assert time.monotonic() - begun < 10
    finally:
        shutil.rmtree(os.fsencode(entry))


@pytest.mark.parametrize("name", [CONFIG, CHECKPOINT, "start.safetensors", "trajectory.npz"])
def test_a_link_inside_a_run_does_not_lead_out(library, tmp_path, name):
    secret = tmp_path / "secret"
    secret.write_text("not ours")
    (tmp_path / "models" / "run" / name).symlink_to(secret)
    with pytest.raises(Refused, match="is not in a folder of this explorer"):
        library.open(Stored(kind="stored", path="models/run"))


def test_a_link_that_stays_inside_is_followed(library, tmp_path):
    inside = tmp_path / "models" / "kept"
    inside.write_text("{}")
    (tmp_path / "models" / "run" / CONFIG).symlink_to(inside)
    with pytest.raises(InputError, match="has no config"):
        library.open(Stored(kind="stored", path="models/run"))


@pytest.mark.parametrize("path", ["models/" + "a" * 300, "models/" + "a/" * 3000, "models/run\0", "models/loop"])
def test_names_that_no_file_can_have_are_refused(library, tmp_path, path):
    (tmp_path / "models" / "loop").symlink_to(tmp_path / "models" / "loop")
    with pytest.raises(InputError):
        library.open(Stored.model_construct(path=path, index=0, order=None, beta=1.0))


@pytest.mark.parametrize("name", ["run/config.json", "run/checkpoint.safetensors", "pipe.safetensors"])
def test_a_pipe_is_never_waited_for(library, tmp_path, name):
    os.mkfifo(tmp_path / "models" / name)
    shown, left_out = library.listed()
    assert all(entry.path.startswith(("package/", "zoo/")) for entry in shown)  # only shipped entries
    assert len(left_out) == (name == "pipe.safetensors")  # a run needs both files
    begun = time.monotonic()
    with pytest.raises(InputError):
        library.open(Stored(kind="stored", path="models/run" if name.startswith("run") else f"models/{name}"))
    assert time.monotonic() - begun < 1


@pytest.mark.parametrize("header", [{"format": "anyorder sweep 1"}, {"summary": {}}, {"summary": {"length": "x"}}, {}])
def test_files_that_are_no_models_are_not_offered(library, tmp_path, header):
    write_tensors(tmp_path / "models" / "a.safetensors", {"w": np.ones(2)}, {"format": FORMAT, **header})
    shown, (left_out,) = library.listed()
    assert all(entry.path.startswith(("package/", "zoo/")) for entry in shown)
    assert left_out.path == "models/a.safetensors"


def test_results_of_experiments_are_no_entries(tmp_path):
    """A report of `anyorder reproduce` lists its runs, and a model with the name of a result is still listed."""
    (task,) = run_all(
        [experiment("Nothing", "ours", {"tiny": 1.0})(lambda task: Result({}))], tmp_path / "report", Task("tiny")
    )
    assert task.failure is None
    model = anyorder.construct("k-head", order=1, alphabet_size=2, length=8)
    anyorder.save(model, tmp_path / "report" / "result.safetensors")
    shown, left_out = Library([tmp_path / "report"]).listed()
    assert left_out == []
    assert [one.path for one in shown if one.path.startswith("report/")] == ["report/result.safetensors"]


@pytest.mark.parametrize(
    "path",
    [
        "../secret.safetensors", "models/../secret.safetensors", "models/../../etc/passwd", "/etc/passwd",
        "models//etc/passwd", "models/link.safetensors", "models/%2e%2e/secret.safetensors", "models/\0", "",
        "models/../models/../secret.safetensors", "\u2025/secret.safetensors", "models/" + "a/" * 300,
    ],
)  # fmt: skip
def test_paths_outside_the_folders_are_refused(client, path):
    response = client.post("/api/view", json={"model": {"kind": "stored", "path": path}})
    assert response.status_code in (403, 422)
    refused(response)
    assert "secret" not in response.text or "not in a folder" in response.text or "no 'models" in response.text


def test_a_broken_file_is_one_line_without_our_paths(client, folder):
    response = client.post("/api/view", json={"model": {"kind": "stored", "path": "models/cut.safetensors"}})
    assert "not a complete safetensors file" in refused(response)
    assert str(folder) not in response.text
    assert "has 2 symbols" not in response.text
    short = client.post(
        "/api/view",
        json={"model": {"kind": "stored", "path": "models/run"}, "sequence": {"kind": "text", "text": "abcd"}},
    )
    assert "the sequence has 4 symbols, the model has 2" in refused(short)


def test_stored_models_and_runs_are_listed_and_opened(client, folder):
    options = client.get("/api/options").raise_for_status().json()
    assert {entry["name"] for entry in options["constructions"]} == set(CONSTRUCTIONS)
    stored = {entry["path"]: entry for entry in options["stored"]}
    run = stored["models/run"]
    assert (run["kind"], run["models"], run["order"], run["alphabet_size"]) == ("run", 2, 1, 2)
    assert re.fullmatch(r"order 1, paper, gap \+0\.2500, \d{4}-\d\d-\d\d \(models/run\)", run["title"])
    assert stored["models/dyadic.safetensors"]["title"].startswith("dyadic, order 2, float64")
    shipped = stored["package/trained-order-2.safetensors"]  # version 0.2 wrote it
    assert (shipped["order"], shipped["alphabet_size"]) == (2, 2)
    assert "models/cut.safetensors" not in stored
    assert "models/run/model-0.safetensors" not in stored
    text = {"kind": "text", "text": "abcabcababcabcab"}
    view = client.post(
        "/api/view", json={"model": {"kind": "stored", "path": "models/dyadic.safetensors"}, "sequence": text}
    )
    view = view.raise_for_status().json()
    assert view["model"]["construction"] == "dyadic"
    assert view["exactness"]["passed"] is True
    asked = {
        "model": {"kind": "stored", "path": "models/run", "index": 1},
        "sequence": {"kind": "text", "text": "abbabaab"},
    }
    view = client.post("/api/view", json=asked).raise_for_status().json()
    _, models = anyorder.training.folder.read_models(folder / "run")
    tokens = [0, 1, 1, 0, 1, 0, 0, 1]
    np.testing.assert_allclose(matrix(view["predicted"]), models[1](tokens), atol=1e-6)
    assert view["exactness"]["passed"] is None
    assert view["model"]["certificate"] is None
    story = client.post("/api/story", json={**asked, "position": 5}).raise_for_status().json()
    assert [step["title"] for step in story["steps"]] == ["Layer 1", "Layer 2", "Prediction"]


def test_a_saved_construction_is_held_to_its_own_smoothing(library, tmp_path):
    model = anyorder.construct("bayes", order=2, alphabet_size=2, length=32, beta=2.0)
    anyorder.save(model, tmp_path / "models" / "bayes.safetensors")
    text = Text(kind="text", text="abbabaabbaab")
    for order, name, passed in ((None, "add-2 smoothing", True), (1, "add-1", None)):
        asked = ViewRequest(model=Stored(kind="stored", path="models/bayes.safetensors", order=order), sequence=text)
        found = Explorer(library).view(asked, lambda: None).exactness
        assert (found.compared_with, found.passed) == (name, passed)


def listed_folder(tmp_path, names, data=b""):
    """A library over one folder with these files."""
    (tmp_path / "many").mkdir()
    for name in names:
        (tmp_path / "many" / name).write_bytes(data)
    return Library([tmp_path / "many"])


def test_more_entries_than_are_listed_are_named(tmp_path, monkeypatch):
    monkeypatch.setattr(web_library, "MOST_LISTED", 30)
    write_tensors(tmp_path / "m.safetensors", {"w": np.ones(2)}, {"format": FORMAT, "summary": hostile.SUMMARY})
    library = listed_folder(
        tmp_path, (f"{number}.safetensors" for number in range(40)), (tmp_path / "m.safetensors").read_bytes()
    )
    shown, (left_out,) = library.listed()
    assert len(shown) == 30
    assert left_out.path.startswith("many/")
    assert left_out.why == "more than 30 entries; name smaller folders"


def test_unreadable_entries_do_not_hide_readable_ones_and_are_bounded(tmp_path, monkeypatch):
    monkeypatch.setattr(web_library, "MOST_LISTED", 30)
    library = listed_folder(tmp_path, (f"{number}.safetensors" for number in range(40)))
    exploring.write_trajectory(tmp_path / "many" / "trajectory.npz", steps=4)
    shown, left_out = library.listed()
    assert "many/trajectory.npz" in [one.path for one in shown]
    assert len(left_out) == 31
    assert left_out[-1].why == "10 more entries cannot be opened; name smaller folders"


def test_empty_folders_end_the_search_in_time(tmp_path, monkeypatch):
    monkeypatch.setattr(web_library, "PATIENCE", 0.0)
    library = listed_folder(tmp_path, [])
    shown, (left_out,) = library.listed()
    assert shown == []
    assert left_out.why == "the folders take longer than 0 s to list; name smaller folders"


@pytest.mark.parametrize(
    ("text", "why"),
    [
        (json.dumps({"model": "m", "heads": [], "controls": {}, "x": "x" * 4_100_000}), "probe.json has 4.1 MB, lists"),
        (json.dumps({"model": "m" * 1001, "heads": [], "controls": {}}), "is not a complete result"),
    ],
)
def test_large_results_and_long_names_are_left_out_of_the_list(tmp_path, text, why):
    (tmp_path / "probe.json").write_text(text)
    (left_out,) = [one for one in probe.listed(Library([tmp_path])) if one.why]
    assert why in left_out.why
    assert len(left_out.why) < 300


def test_a_result_with_many_wrong_entries_is_refused_at_the_first(tmp_path):
    (tmp_path / "probe.json").write_text('{"model": "m", "controls": {}, "heads": [' + "{}," * 100_000 + "{}]}")
    with hostile.little_memory(100 << 20), pytest.raises(InputError, match="is not a complete result"):
        probe.opened(Library([tmp_path]), f"{tmp_path.name}/probe.json")
