"""`anyorder price`: the table, the JSON, the figure, and refusals."""

from __future__ import annotations

import json

import pytest

from anyorder.cli.main import main
from anyorder.constructions import CONSTRUCTIONS


def test_every_construction_has_a_row(capsys, monkeypatch):
    monkeypatch.setenv("COLUMNS", "80")
    assert main(["price", "--order", "3", "--alphabet-size", "2", "--length", "1024"]) == 0
    shown = capsys.readouterr().out
    lines = [line for line in shown.splitlines() if line.strip()]
    rows = {line.split()[0]: line for line in lines if line.split()[0] in CONSTRUCTIONS}
    assert set(rows) == {name for name, entry in CONSTRUCTIONS.items() if not entry.largest_order}
    # 1,026 heads of 2 + 2 numbers of 64 bits; blocks of 4 tokens hide 255 bits.
    assert rows["one-layer"].split()[1:4] == ["1", "1,026", "4,105"]
    assert rows["one-layer"].split()[-1] == "262,656"
    assert rows["convolution"].split()[-1] == "4"
    titles = {"mantissa bits: at least 2", "bits through the heads: at least 255", "taps: at least 4"}
    assert titles | {"bits of state: at least 43", "no lower bound"} <= {line.strip() for line in lines}
    assert "…" not in shown
    assert max(map(len, lines)) <= 80


def test_a_figure_is_drawn(capsys, tmp_path):
    path = tmp_path / "price.svg"
    assert main(["price", "--order", "2", "--length", "64", "--figure", str(path), "--json"]) == 0
    report = json.loads(capsys.readouterr().out)
    assert report["figure"] == str(path)
    assert {one["construction"] for one in report["prices"]} > {"one-layer", "recurrent", "unrolled"}
    drawn = path.read_text(encoding="utf-8")
    assert drawn.startswith("<?xml")
    assert "<!-- order k -->" in drawn
    beyond = ["--order", "128", "--alphabet-size", "512", "--length", "1000000000000000000"]  # bits beyond floats
    assert main(["price", *beyond, "--figure", str(path)]) == 0
    said = capsys.readouterr()
    assert "overflow" not in said.err
    assert str(path) in said.out


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--order", "3", "--alphabet-size", "1"], "alphabet size is 1, must be at least 2"),
        (["--order", "1024"], "order is 1024, must be smaller than the length 1024"),
        (["--order", "200"], "order is 200, constructions go to 128; lower the order"),
    ],
)
def test_bad_input_is_one_line(capsys, words, said):
    assert main(["price", *words]) == 2
    error = capsys.readouterr().err
    assert said in error
    assert error.count("\n") == 1
