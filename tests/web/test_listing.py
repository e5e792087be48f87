"""What is stored is listed, and opened."""

import re

import numpy as np

import anyorder
from anyorder.constructions import CONSTRUCTIONS
from tests.web.exploring import matrix


def test_stored_models_and_runs_are_listed_and_opened(client, folder):
    options = client.get("/api/options").raise_for_status().json()
    assert {entry["name"] for entry in options["constructions"]} == set(CONSTRUCTIONS)
    stored = {entry["path"]: entry for entry in options["stored"]}
    run = stored["models/run"]
    assert (run["kind"], run["models"], run["order"], run["alphabet_size"]) == ("run", 2, 1, 2)
    assert re.fullmatch(r"order 1, fast, gap \+0\.2500, \d{4}-\d\d-\d\d \(models/run\)", run["title"])
    assert stored["models/dyadic.safetensors"]["title"].startswith("dyadic, order 2, float64")
    assert stored["package/trained-order-2.safetensors"]["order"] == 2
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
