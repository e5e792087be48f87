"""The backend of the exported page answers as the server does, in a real Chromium."""

import json

import numpy as np
import pytest

from anyorder.web import export as exports
from anyorder.web import schema
from anyorder.web.app import STATIC
from anyorder.web.bundle import bundle
from anyorder.web.library import Library
from anyorder.web.proof import tell
from anyorder.web.view import Explorer
from tests.web.exploring import TEXT, matrix

CASES = [
    ("dyadic", 2, "float64", 0.0, 20), ("dyadic", 3, "float32", 0.0, 24), ("two-layer", 2, "float64", 1.0, 20),
    ("k-head", 3, "float32", 0.0, 20), ("attention-only", 2, "float64", 0.0, 3), ("bayes", 2, "float64", 0.0, 9),
    ("convolution", 2, "float32", 0.0, 20), ("recurrent", 3, "float64", 1.0, 20),
    ("recurrent-bayes", 1, "float32", 0.0, 9), ("unrolled", 2, "float64", 0.0, 20),
]  # fmt: skip


@pytest.fixture(scope="module")
def answers(browser, site):
    """Ask the backend of the exported page."""
    page = browser.new_page()
    page.goto(f"file://{site}/index.html")
    page.wait_for_selector("body[data-state=ready]")
    modules = bundle(STATIC.parent, "local/backend.js")
    page.add_script_tag(content=modules.replace("const modules = {};", "const modules = (globalThis.modules = {});"))

    def ask(method, *arguments):
        program = f"(given) => modules['local/backend.js'].backend.{method}(...given)"
        return page.evaluate(f"async (given) => JSON.parse(JSON.stringify(await ({program})(given)))", list(arguments))

    yield ask
    page.close()


def request(name, order, dtype, warmth):
    model = {"kind": "construction", "name": name, "order": order, "dtype": dtype, "temperature": 2.0**warmth}
    return {"model": {**model, "alphabet_size": None}, "sequence": {"kind": "text", "text": TEXT}}


@pytest.mark.parametrize(("name", "order", "dtype", "warmth", "position"), CASES)
def test_the_page_answers_as_the_server_does(answers, monkeypatch, name, order, dtype, warmth, position):
    # The certificates of the exported page are for its length, those of the server for the padded one.
    monkeypatch.setattr("anyorder.web.limits.PADDING", exports.LENGTH)
    asked = request(name, order, dtype, warmth)
    explorer = Explorer(Library())
    whole = schema.ViewRequest.model_validate(asked)
    expected = explorer.view(whole, lambda: None)
    given = answers("view", asked)
    for field in ("symbols", "tokens", "outcome", "begins", "nearest", "bayes_name", "losses"):
        assert given[field] == getattr(expected, field), field
    info, theirs = given["model"], json.loads(expected.model.model_dump_json())
    for field in ("title", "source", "construction", "order", "dtype", "heads", "mlp", "dimension", "refusal"):
        assert info[field] == theirs[field], field
    assert info["certificate"]["bound"] == pytest.approx(theirs["certificate"]["bound"], rel=1e-3)
    assert info["certificate"]["kappa"] == pytest.approx(theirs["certificate"]["kappa"], rel=1e-12)
    if name != "bayes":  # its error is a few units of rounding, about where exact ends
        assert given["exactness"]["level"] == expected.exactness.level
    assert [error is None for error in given["errors"]] == np.isnan(expected.errors).tolist()
    for which, theirs in (("pseudo", expected.pseudo_attention), ("difference", expected.difference)):
        values = answers("map", asked, which)["values"]
        mine = np.array([values[str(at)] for at in range(len(values))], float)  # null is NaN
        np.testing.assert_allclose(mine, matrix(theirs.model_dump()).ravel(), atol=1e-5)

    story = answers("story", {**asked, "position": position})
    told = tell(explorer.traced(whole, lambda: None), position)
    assert [story[field] for field in ("window", "matches", "counts")] == [told.window, told.matches, told.counts]
    assert len(story["steps"]) == len(told.steps)
    for mine, theirs in zip(story["steps"], told.steps, strict=True):
        for field in ("title", "text", "here", "equation", "source", "about"):
            assert mine[field] == getattr(theirs, field)
        assert [schema.Weight(**weight) for weight in mine["weights"]] == theirs.weights
        for part, other in zip(mine["parts"], theirs.parts, strict=True):
            assert [part[field] for field in ("kind", "name", "labels", "marks", "first", "unit")] == [
                getattr(other, field) for field in ("kind", "name", "labels", "marks", "first", "unit")
            ]
            np.testing.assert_allclose(np.array(part["values"], float), np.array(other.values, float), atol=2e-5)
            assert (part["line"] is None) == (other.line is None)
            assert [over["position"] for over in part["over"]] == [over.position for over in other.over]
