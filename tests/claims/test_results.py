"""Tables of experiments that claims are measured on."""

from __future__ import annotations

import json

import pytest

from tests.claims.small import DEPTH, TOKEN


def test_results_come_from_the_folder_of_reproduce(run, tmp_path):
    result = {"id": "depth", "tables": {"excess": {"caption": "…", "rows": DEPTH}}}
    (tmp_path / "depth.json").write_text(json.dumps(result))
    (tmp_path / "other.json").write_text("{}")
    (tmp_path / "token-noise").mkdir()
    (tmp_path / "token-noise" / "tables.json").write_text(json.dumps({"excess": TOKEN}))
    _, text, _ = run("claims", "tab-depth", "tab-token-noise", "tab-bits", "--results", tmp_path, "--json")
    depth, noise, bits = json.loads(text)["claims"]
    assert (depth["verdict"], noise["verdict"]) == ("holds", "holds")
    assert bits["verdict"] == "not measured here"
    assert "anyorder reproduce bits" in bits["detail"]


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("{", "is not"),
        ('{"tables": {"excess": [1]}}', "must map tables to lists of rows"),
        ('{"tables": {"other": []}}', "no table 'excess', only other"),
        ('{"tables": {"excess": [{"layers": 1}, {"layers": 2}]}}', "no column 'excess_mean', only layers"),
        (json.dumps({"tables": {"excess": DEPTH[:1]}}), "no row for 2"),
    ],
)
def test_results_that_cannot_be_read_are_one_line(run, tmp_path, content, message):
    (tmp_path / "depth.json").write_text(content)
    code, _, error = run("claims", "tab-depth", "--results", tmp_path)
    assert code == 2
    assert message in error
    assert error.count("\n") == 1
