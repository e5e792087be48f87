"""The page of a probe's result, over the API and in a real Chromium."""

import json

import pytest
from fastapi.testclient import TestClient

from anyorder.constructions import construct
from anyorder.probing import OwnModel, Settings, as_json, probe
from anyorder.web.app import create_app
from tests.web import exploring


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    root = tmp_path_factory.mktemp("probes") / "models"
    (root / "one").mkdir(parents=True)
    model = OwnModel(construct("k-head", order=2, alphabet_size=3, length=110), "k-head of order 2")
    report = as_json(probe(model, Settings(sequences=6, length=110)), maps=True)
    (root / "one" / "probe.json").write_text(json.dumps(report))
    (root / "broken").mkdir()
    (root / "broken" / "probe.json").write_text('{"heads": 3}')
    (root.parent / "probe.json").write_text(json.dumps(report))
    return root


def test_results_are_listed_and_opened_and_nothing_else(folder):
    client = TestClient(create_app([folder]), base_url="http://localhost")
    only, broken = client.get("/api/probes").json()
    named = {"path": "models/one/probe.json", "title": "k-head of order 2 (models/one/probe.json)"}
    assert only == {**named, "why": None}
    assert broken["path"] == "models/broken/probe.json"
    assert "is no whole result" in broken["why"]
    result = client.post("/api/probe", json={"path": only["path"]}).json()
    assert [head["order"] for head in result["heads"]] == [None, None, 2]
    assert len(result["maps"]["heads"]) == 1
    for path, status in (
        ("models/../probe.json", 403),
        ("models/broken/probe.json", 422),
        ("models/one/other.json", 422),
        ("elsewhere/probe.json", 403),
    ):
        answer = client.post("/api/probe", json={"path": path})
        assert answer.status_code == status
        assert "\n" not in answer.json()["error"]


def test_a_head_shows_its_spectrum_and_its_map(browser, folder):
    with exploring.explorer([folder]) as (address, _):
        page = browser.new_page()
        said = []
        page.on("console", lambda message: said.append(message.text))
        page.on("pageerror", lambda error: said.append(str(error)))
        page.goto(f"{address}/probe.html")
        page.wait_for_selector("body[data-state=ready]")
        assert page.inner_text("#head-title") == "layer 1, head 0: order 2"
        assert page.locator("#map canvas").count() == 1
        page.get_by_role("button", name="layer 0, head 1: no order").click()
        assert page.inner_text("#head-title") == "layer 0, head 1: no order"
        assert "ℓ = 5" in page.inner_text("#spectrum")
        assert "Maps are kept" in page.inner_text("#map")
        assert said == []
        page.close()
