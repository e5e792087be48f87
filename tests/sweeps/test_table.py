"""Tables that are damaged or belong to another sweep are rejected and unchanged."""

from __future__ import annotations

import re

import pytest

from anyorder.errors import InputError
from anyorder.io import atomic, plugins
from anyorder.sweeps import run as run_module
from anyorder.sweeps import spec, table
from tests.sweeps.small import GRID, in_process, made


@pytest.mark.parametrize(
    ("name", "change", "words"),
    [
        (
            "runs.jsonl",
            lambda text: text.replace("0.001", "0.002", 1),
            "line 1 of {} has learning_rate 0.002, run 0 has",
        ),
        (
            "runs.jsonl",
            lambda text: text.replace('"run": 0', '"run": 99', 1),
            "line 1 of {} is run 99, must be 0 to 11",
        ),
        (
            "runs.jsonl",
            lambda text: text.replace('"excess": ', '"excess": "', 1).replace(",", '",', 1),
            "line 1 of {} is",
        ),
        ("runs.jsonl", lambda text: text.replace('"excess"', '"exces"', 1), "line 1 of {} has no excess"),
        ("runs.jsonl", lambda text: text.replace('"done"', '"won"', 1), "line 1 of {} has the outcome 'won'"),
        ("sweep.json", lambda text: text.replace('"axes"', '"exes"', 1), "{} has no axes"),
        ("sweep.json", lambda text: text.replace("sweep 1", "sweep 9", 1), "{} contains 'anyorder sweep 9'"),
        ("sweep.json", lambda text: "[" * 10_000, "{} is nested too deeply"),
    ],
)
def test_a_damaged_table_is_refused_and_not_touched(tmp_path, name, change, words, run):
    kept = table.SweepFolder(tmp_path / "sweep", GRID)
    kept.begin({})
    for one, row in zip(spec.runs(GRID), in_process(), strict=True):
        kept.add(one, row.ended)
    file = tmp_path / "sweep" / name
    file.write_text(change(file.read_text()))
    before = file.read_bytes()
    with pytest.raises(InputError, match=re.escape(words.format(file))):
        run_module.plan_sweep(GRID, tmp_path / "sweep")
    assert run("show", tmp_path / "sweep")[0] == 2
    assert file.read_bytes() == before


def test_folders_of_others_are_refused_and_not_touched(tmp_path, run):
    other, foreign = tmp_path / "other", tmp_path / "foreign"
    grid, _ = made({"order": [1, 2]})
    kept = table.SweepFolder(other, grid)
    kept.begin({})
    before = {entry.name: entry.read_bytes() for entry in other.iterdir()}
    assert run("sweep", "learning-rate", "--out", other)[2] == (
        f"anyorder: {other} contains another sweep (no axis learning_rate, not learning_rate 0.0003 0.001 "
        "0.003 0.01 0.03); choose another --out\n"
    ).replace("no axis learning_rate, not learning_rate 0.0003 0.001 0.003 0.01 0.03", "order 1 2, not no axis order")
    assert {entry.name: entry.read_bytes() for entry in other.iterdir()} == before
    foreign.mkdir()
    (foreign / "thesis.txt").write_text("mine")
    assert run("sweep", "learning-rate", "--out", foreign)[2] == (
        f"anyorder: {foreign} already contains other files; choose another folder\n"
    )
    assert [entry.name for entry in foreign.iterdir()] == ["thesis.txt"]
    assert run("show", foreign)[0] == 2


def test_a_sweep_names_the_plug_in_that_is_missing(plugin, tmp_path, monkeypatch, run):
    path = plugin("from anyorder.chains import Dirichlet\n\n\nclass Own(Dirichlet):\n    name = 'own-rows'\n")
    grid, _ = made({"prior": ["dirichlet", "own-rows"]}, metric="excess")
    table.SweepFolder(tmp_path / "sweep", grid).begin({})
    assert table.read_sweep(tmp_path / "sweep") == (grid, [])
    monkeypatch.delenv(plugins.VARIABLE)
    code, _, error = run("show", tmp_path / "sweep")
    wrong = f"{tmp_path}/sweep/sweep.json has the prior 'own-rows' of {path}"
    assert (code, error) == (2, f"anyorder: {wrong}; load that with --plugin or ANYORDER_PLUGINS\n")


def test_an_interruption_right_after_a_row_was_written_keeps_it(tmp_path, monkeypatch):
    def interrupted(path, rows):
        atomic.append_lines(path, rows)
        raise KeyboardInterrupt

    rows = table.SweepFolder(tmp_path / "sweep", GRID)
    rows.begin({})
    monkeypatch.setattr(table, "append_lines", interrupted)
    with pytest.raises(KeyboardInterrupt):
        rows.add(spec.runs(GRID)[0], table.Ended("failed"))
    rows.sort()
    assert [row.run for row in table.read_sweep(tmp_path / "sweep")[1]] == [0]
