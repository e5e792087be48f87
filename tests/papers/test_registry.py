"""A new paper is one folder: a toy paper works in every command, the report and the pages of the docs."""

from __future__ import annotations

import json
import os
import pathlib
import shutil
import subprocess
import sys

import pytest

import anyorder
from anyorder.errors import InputError
from anyorder.io import plugins
from anyorder.papers.paper import RESULTS
from anyorder.papers.registry import EXPERIMENTS, chosen, find_claims, papers
from benchmarks import claims as claims_recorder
from benchmarks import results as results_recorder
from benchmarks.pages.claims import claims_page
from benchmarks.pages.results import regenerated

TOY = {
    "__init__.py": '''
from pathlib import Path

from anyorder.papers import Ledger, Paper


def _experiments():
    from . import experiments

    return experiments.depth, experiments.only_here


def _ledger():
    from . import claims

    return Ledger({"Sums (Sec. 1)": [claims]}, {}, Path(__file__).with_name("recorded.json"))


PAPER = Paper(
    "toy", "On Sums", "Doe, 2026", "sums are symmetric", _experiments, _ledger,
    results=Path(__file__).with_name("results"), rule=lambda: "Numbers agree if they are equal.",
)
''',
    "experiments.py": '''
from anyorder.papers import OnPage, Result, Table
from anyorder.papers.experiment import experiment
from anyorder.papers.figure_data import Chart, Plot, series

COST = {"tiny": 0.1, "quick": 0.1, "paper": 0.1}


@experiment("Sums", "Sec. 1", COST, paper="They are 2 and 5.", on_page=OnPage(("line",)))
def depth(task):
    rows = [{"n": n, "sum": n * n + 1, "sum_agrees": printed == n * n + 1} for n, printed in ((1, 2), (2, 7))]
    line = Plot("A line.", [Chart("n", "sum", [series("s", rows, "n", "sum")])])
    return Result({"sums": Table("All sums.", rows)}, {"line": line})


@experiment("Nothing", "Sec. 2", COST)
def only_here(task):
    return Result({"none": Table("Nothing.", [{"n": 0}])})
''',
    "claims.py": '''
from anyorder.papers.entry import claim, judge


@claim("Sec. 1", "Sums are symmetric.")
def eq_symmetric():
    return judge({"1 + 2": 1 + 2}, printed=1 + 2 == 2 + 1)


@claim("Sec. 1", "The first sum is 2.", see=("eq-symmetric",))
def tab_depth(depth):
    first = depth["sums"][0]["sum"]
    return judge({"first": first}, printed=first == 2)
''',
    "presets.py": '''
from anyorder.training import preset

TOY_MODEL = preset("fast", steps=7)
''',
}  # fmt: skip
ROOT = pathlib.Path(__file__).parents[2]


def write(folder: pathlib.Path) -> pathlib.Path:
    folder.mkdir()
    for name, text in TOY.items():
        (folder / name).write_text(text, encoding="utf-8")
    return folder


@pytest.fixture
def toy(tmp_path, monkeypatch):
    """The toy as a folder, loaded as a plug-in."""
    folder = write(tmp_path / "toy")
    monkeypatch.setenv(plugins.VARIABLE, str(folder))
    return folder


@pytest.mark.slow
def test_it_is_listed_with_what_it_offers(toy, run):
    code, text, _ = run("papers", "--json")
    listed = {paper["name"]: paper for paper in json.loads(text)["papers"]}
    assert code == 0
    assert next(iter(listed)) == "two_can"
    assert list(listed)[-2:] == ["toy", "own"]
    assert listed["toy"] == {
        "name": "toy", "title": "On Sums", "reference": "Doe, 2026", "about": "sums are symmetric", "home": str(toy),
        "experiments": ["toy/depth", "toy/only-here"], "claims": 2, "presets": ["toy-model"], "sweeps": [],
        "priors": [], "estimators": [], "constructions": [], "mixers": [],
    }  # fmt: skip
    _, text, _ = run("papers")
    assert "toy: On Sums (Doe, 2026)\n  sums are symmetric\n  experiments: toy/depth, toy/only-here" in text
    _, text, _ = run("reproduce", "list", "--json")
    assert "toy/depth" in [one["id"] for one in json.loads(text)["experiments"] if one["paper"] == "toy"]
    _, text, _ = run("claims", "list", "--json")
    assert "toy/eq-symmetric" in [one["id"] for one in json.loads(text)["claims"] if one["paper"] == "toy"]


@pytest.mark.slow
def test_it_is_reproduced_measured_recorded_and_shown(toy, run, tmp_path, monkeypatch):
    out = tmp_path / "out"
    code, text, _ = run("reproduce", "toy", "--budget", "paper", "--out", out)
    assert code == 0, text
    page = (out / "index.html").read_text(encoding="utf-8")
    assert '<section id="toy/depth">' in page
    assert "<dt>Paper</dt><dd>On Sums (Doe, 2026)</dd>" in page
    found = json.loads((out / "toy" / "depth.json").read_text())
    assert found["verdict"] == {"rule": "Numbers agree if they are equal.", "agree": {"sum": "1 of 2"}}
    code, text, _ = run("reproduce", "toy/depth", "--budget", "paper", "--out", out, "--json")
    assert {id: one["kept"] for id, one in json.loads(text)["experiments"].items()} == {"toy/depth": True}

    code, text, _ = run("claims", "toy", "--results", out)
    assert code == 1  # nothing is on record yet
    assert "toy/tab-depth (Sec. 1)" in text
    assert "HOLDS, on record: nothing" in text
    assert "anyorder reproduce toy/depth --out DIR" in run("claims", "toy")[1]  # no results are on record either
    results_recorder.record(out)
    assert (toy / "results" / "depth" / "line.png").exists()
    monkeypatch.setattr(claims_recorder, "DOCS", tmp_path)
    monkeypatch.setattr(sys, "argv", ["claims", "--write", "toy"])
    claims_recorder.main()
    code, text, _ = run("claims", "toy", "--json")
    assert code == 0
    entries = {one["id"]: one for one in json.loads(text.splitlines()[-1])["claims"]}
    assert list(entries) == ["toy/eq-symmetric", "toy/tab-depth"]
    assert {one["recorded"] for one in entries.values()} == {"holds"}
    assert entries["toy/eq-symmetric"]["see"] == ["toy/tab-depth"]

    written = (tmp_path / "claims.md").read_text(encoding="utf-8")
    assert written == claims_page()
    assert "*On Sums*, Doe, 2026" in written
    assert "**`toy/tab-depth`** (Sec. 1) The first sum is 2." in written
    assert "**`thm-two-layer`**" in written
    written = regenerated((ROOT / "docs" / "reproduce.md").read_text(encoding="utf-8"))
    assert "| `toy/only-here` | Nothing | Sec. 2 | 0.1 min | 0.1 min |" in written
    assert "**On Sums.** Numbers agree if they are equal." in written
    assert "### Sums (`toy/depth`)\n\nSec. 1; no training." in written
    assert "Agreement with the printed values: *sum* 1 of 2." in written
    assert f"![A line.](../{os.path.relpath(toy, RESULTS.parent)}/results/depth/line.png)" in written


def test_ids_are_found_by_paper_and_where_they_are_unique(toy):
    assert [one.id for one in chosen(["depth"])] == ["depth"]  # ids of version 0.2 keep their meaning
    assert [one.id for one in chosen(["toy/depth", "two_can/depth"])] == ["depth", "toy/depth"]
    assert [one.id for one in chosen(["only-here"])] == ["toy/only-here"]
    assert [one.id for one in chosen(["own", "toy"])][:3] == ["toy/depth", "toy/only-here", "precision"]
    assert len(chosen([])) == len(EXPERIMENTS) == len(chosen(["all"]))
    with pytest.raises(InputError, match=r"no experiment 'toy/dept'; did you mean toy/depth\?"):
        chosen(["toy/dept"])
    with pytest.raises(InputError, match="no experiment 'own/depth'"):
        chosen(["own/depth"])
    assert list(find_claims([])) == [name for name, paper in papers().items() if paper.ledger is not None]
    claims = find_claims(["eq-symmetric", "E9", "toy/tab"])
    assert {paper: [one.id for one in of] for paper, of in claims.items()} == {
        "toy": ["eq-symmetric", "tab-depth"],
        "two_can": ["eq-recursion"],
    }
    assert [one.id for one in find_claims(["tab-depth"])["two_can"]] == ["tab-depth"]
    for word in ("own", "own/eq-score"):
        with pytest.raises(InputError, match="no paper 'own' with claims"):
            find_claims([word])


def test_papers_that_share_an_id_or_a_name_are_told_apart(toy, tmp_path, monkeypatch):
    other = write(tmp_path / "other")
    monkeypatch.setenv(plugins.VARIABLE, os.pathsep.join([str(toy), str(other)]))
    with pytest.raises(InputError, match=r"the paper 'toy' is in .*toy and in .*other; rename one of them"):
        papers()
    text = TOY["__init__.py"].replace('"toy"', '"other"')
    third = write(tmp_path / "third")
    (third / "__init__.py").write_text(text)
    monkeypatch.setenv(plugins.VARIABLE, os.pathsep.join([str(toy), str(third)]))
    (third / "presets.py").unlink()
    with pytest.raises(InputError, match="the experiment 'only-here' is in toy and in other; write toy/only-here"):
        chosen(["only-here"])
    with pytest.raises(InputError, match="the claim 'eq-symmetric' is in toy and in other; write toy/eq-symmetric"):
        find_claims(["eq-symmetric"])
    assert [one.id for one in chosen(["other/only-here"])] == ["other/only-here"]


def test_without_the_plug_in_it_is_gone():
    assert "toy" not in papers()
    with pytest.raises(InputError, match="no experiment 'toy'"):
        chosen(["toy"])


@pytest.mark.slow
def test_below_the_package_it_is_found_without_any_other_change(tmp_path):
    shutil.copytree(pathlib.Path(anyorder.__file__).parent, tmp_path / "anyorder")
    write(tmp_path / "anyorder" / "papers" / "toy")
    program = "import sys\nfrom anyorder.cli import main\nprint(*(main(words.split()) for words in sys.argv[1:]))"
    commands = ("papers --json", "reproduce toy --budget tiny --out out --json", "claims toy --results out --json")
    environment = {**os.environ, "ANYORDER_CACHE": str(tmp_path / "cache")}
    words = [sys.executable, "-c", program, *commands]
    made = subprocess.run(words, capture_output=True, text=True, cwd=tmp_path, env=environment)
    assert made.returncode == 0, made.stderr
    *reports, codes = made.stdout.splitlines()
    assert codes == "0 0 1"  # no claim is on record
    listed, reproduced, measured = map(json.loads, reports)
    assert next(one for one in listed["papers"] if one["name"] == "toy")["home"] == "anyorder.papers.toy"
    assert list(reproduced["experiments"]) == ["toy/depth", "toy/only-here"]
    assert {one["id"]: one["verdict"] for one in measured["claims"]} == {
        "toy/eq-symmetric": "holds",
        "toy/tab-depth": "holds",
    }
