"""`anyorder demo`."""

import json
import re

import pytest

from anyorder.papers.two_can import story


@pytest.mark.slow
def test_demo_tells_the_whole_story(run, tmp_path, monkeypatch):
    monkeypatch.setattr(story, "SHOWN", story.SHOWN[:2])  # all of them are tested on their own
    words = ("--orders", 1, "--length", 9, "--count", 32, "--steps", 20)
    code, text, _ = run("demo", "--out", tmp_path, *words, "--json")
    assert code == 0
    report = json.loads(text)
    predictors = report["orders"][0]["predictors"]
    assert set(predictors) >= {"Bayes (add-one)", "k-gram", "bag of k", "back-off"}
    assert predictors["k-gram"]["excess"] is None  # infinite, which JSON does not have
    assert all(entry["max_error"] <= entry["bound"] for entry in report["constructions"])
    assert report["training"]["excess"] > report["training"]["floor"] > 0
    assert report["two_stage"]["p_1_leads"]
    page = (tmp_path / "index.html").read_text()
    assert page.count("data:image/png;base64,") == len(list(tmp_path.glob("*/*.png"))) == 5
    # one sequence, followed: its window is framed, and the constructed head attends to the marked letters equally
    strips = re.findall(r'<div class="strip".*?</div>', page)
    assert len(strips) == 3
    assert [strip.count(" window") for strip in strips] == [2, 2, 2]
    cells = re.findall(r'class="token([^"]*)"><b><i style="height:([\d.]+)%', strips[1])
    assert len(cells) == 32
    assert all((float(height) == 100) == ("match" in kind) for kind, height in cells)
    assert "{" not in re.sub(r"<style>.*?</style>", "", page, flags=re.DOTALL)
