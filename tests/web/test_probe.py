"""The page of a probe's result, over the API and in a real Chromium."""

import itertools
import json
import re
import runpy
from pathlib import Path

import pytest
from fastapi.testclient import TestClient

from anyorder.constructions import construct
from anyorder.probing import OwnModel, Settings, as_json, probe
from anyorder.web.app import create_app
from anyorder.web.library import SHIPPED
from tests.web import exploring

ROOT = Path(__file__).parents[2]


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
    only, shipped, broken = client.get("/api/probes").json()
    assert shipped == {"path": "package/probe.json", "title": "SmolLM2-135M-Instruct", "why": None}
    named = {"path": "models/one/probe.json", "title": "k-head of order 2 (models/one/probe.json)"}
    assert only == {**named, "why": None}
    assert broken["path"] == "models/broken/probe.json"
    assert "is not a complete result" in broken["why"]
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


def test_the_shipped_heads_are_those_of_the_record():
    shortened = runpy.run_path(str(ROOT / "examples" / "shipped_heads.py"))["shortened"]
    kept = json.loads((SHIPPED / "probe.json").read_text(encoding="utf-8"))
    assert kept == shortened(), (
        "the record has changed: run examples/shipped_heads.py, and read the tour on heads again"
    )
    record = json.loads((ROOT / "results" / "probe" / "smollm2.json").read_text(encoding="utf-8"))
    for one, whole in zip(kept["heads"], record["heads"], strict=True):
        assert (one["layer"], one["head"], one["kind"]) == (whole["layer"], whole["head"], whole["kind"])
        assert one["agreement"]["all"] == pytest.approx(whole["agreement"]["all"], rel=1e-2)


def test_a_head_shows_its_profile_and_its_map(browser, folder):
    with exploring.explorer([folder]) as (address, _):
        page = browser.new_page()
        said = []
        page.on("console", lambda message: said.append(message.text))
        page.on("pageerror", lambda error: said.append(str(error)))
        page.goto(f"{address}/#page=heads")
        page.wait_for_selector("body[data-state=ready]")
        assert page.inner_text("#head-title") == "L1 H0"
        assert "order 2: it looks where the last 2 tokens stood before" in page.inner_text("#head-about")
        assert page.is_visible("#map canvas")
        assert page.locator("#result option[disabled]").count() == 1
        bars = dict(re.findall(r"(all|\d|none) ([\d.e-]+)", page.get_attribute("#profile svg", "aria-label")))
        assert float(bars["1"]) < float(bars["all"]) / 4 < float(bars["3"])
        page.get_by_role("button", name="L0 H1: compares nothing").click()
        page.wait_for_selector("body[data-state=ready]")
        assert page.inner_text("#head-title") == "L0 H1"
        assert "does not rise with agreement" in page.inner_text("#head-about")
        assert page.is_hidden("#map")
        # Noise around the average key, 1, does not fill the height: the axis reaches to 4 at least.
        heights = page.evaluate(
            "() => [...document.querySelectorAll('#profile rect')].map((bar) => bar.height.baseVal.value)"
        )
        assert max(heights[1:]) < heights[0] / 2
        assert said == []
        page.close()


def test_a_tour_opens_the_shipped_model_beside_results_of_ones_own(browser, folder):
    with exploring.explorer([folder]) as (address, _):
        page = browser.new_page()
        page.goto(f"{address}/#tour=heads-of-a-language-model")
        page.wait_for_selector("body[data-state=ready]")
        assert page.input_value("#result") == "package/probe.json"
        assert page.inner_text("#head-title") == "L20 H6"
        # What the stop asks is covered in the grid, too.
        chosen = page.locator("#grid [aria-pressed=true]")
        assert (chosen.inner_text(), chosen.get_attribute("aria-label")) == ("?", "L20 H6: covered")
        assert page.is_hidden("#profile")
        page.click("#reveal")
        page.wait_for_selector("#profile", state="visible")
        assert chosen.inner_text() == "3"
        assert "(layers and heads count from 0, as in code)" in page.inner_text("#orders")
        page.set_viewport_size({"width": 390, "height": 844})
        page.click("#next-stop")
        page.click("#reveal")
        page.wait_for_selector("#profile", state="visible")
        labels = page.locator("#profile svg > text[y='148']")
        assert labels.all_text_contents() == ["all", "1", "2", "3", "4", "5", "none"]
        boxes = [label.bounding_box() for label in labels.all()]
        assert all(one["x"] + one["width"] < two["x"] for one, two in itertools.pairwise(boxes))
        page.set_viewport_size({"width": 1280, "height": 720})
        page.select_option("#result", "models/one/probe.json")
        page.wait_for_function("() => document.querySelector('#head-title').textContent === 'L1 H0'")
        page.goto(f"{address}/#page=heads&result=models/one/probe.json&layer=18&head=6")
        page.wait_for_selector("body[data-state=problem]")
        assert page.inner_text("#problem") == "k-head of order 2 has no head L18 H6; shown is L1 H0"
        page.get_by_role("button", name="L0 H1: compares nothing").click()
        page.wait_for_selector("body[data-state=ready]")
        assert page.is_hidden("#problem")
        page.close()
