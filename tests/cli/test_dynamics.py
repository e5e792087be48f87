"""`anyorder dynamics` as a user meets it: report, files, figure, page and error lines."""

from __future__ import annotations

import json
import re

import numpy as np
import pytest

from anyorder.cli.main import parse
from anyorder.papers.two_can.dynamics import Preconditioned, TwoStage

#: Shapes of the tests of the dynamics, so that programs compiled there serve here too.
SMALL = ("--length", 32, "--steps", 60)


@pytest.fixture(autouse=True)
def _no_cache(monkeypatch):
    """Commands that run in this process leave the user's cache of programs alone."""
    monkeypatch.setenv("JAX_COMPILATION_CACHE_DIR", "set, so not ours to set")


def page_data(path):
    text = path.read_text(encoding="utf-8")
    assert not re.search(r'(src|href)="(?!data:|#)|https?://(?!www\.w3\.org)', text)  # self-contained
    return json.loads(re.search(r"const data = (.*);\n", text).group(1))


@pytest.mark.slow
def test_two_stage_writes_its_files(run, tmp_path):
    code, text, errors = run(
        "dynamics", "two-stage", "--alphabet-size", 2, *SMALL, "--batch", 64, "--steps-2", 50,
        "--out", tmp_path, "--json",
    )  # fmt: skip
    assert code == 0, errors
    report = json.loads(text)
    assert report["violated"] == []
    assert report["attention"][1] > 0.8
    assert report["bayes_floor"] > report["true_loss"]
    assert report["gradients"]["cosine"] > 0.9
    with np.load(tmp_path / "trajectory.npz", allow_pickle=False) as stored:
        assert stored["p"].shape == (111, 33)
        assert stored["true_loss"] == report["true_loss"]
    assert sorted(entry.name for entry in tmp_path.iterdir()) == [
        "index.html", "run.png", "trajectory.npz",
    ]  # fmt: skip
    data = page_data(tmp_path / "index.html")
    assert data["frames"][-1]["step"] == 110
    assert data["labels"][-1] == "12+"
    for frame in data["frames"]:
        assert len(frame["row"]) == len(data["labels"])
        assert sum(frame["row"]) == pytest.approx(1, abs=1e-4)


@pytest.mark.slow
def test_preconditioned_runs_on_a_prior_that_violates_an_assumption(run, tmp_path):
    kernel = tmp_path / "kernel.npy"
    zero = np.array([[0.9, 0.8], [0.95, 0.3]])  # π(0|10) > π(0|00): no transition preference
    np.save(kernel, np.stack([zero, 1 - zero], axis=-1))
    words = ("dynamics", "preconditioned", *SMALL, "--batch", 8, "--kernel", kernel, "--gradient", "closed")
    words = (*words, "--out", tmp_path / "o")
    code, text, errors = run(*words)
    assert code == 0, errors
    assert "transition preference: FAILS" in text
    assert "-0.05, limit 0" in text
    assert "to the bag of k" in text
    code, text, _ = run(*words, "--json")
    report = json.loads(text)
    assert report["violated"] == ["cyclic shift, as printed", "transition preference"]
    assert report["spread_of_p_1_to_k"] < 1e-12
    assert report["limit"]["to_bag"] < report["limit"]["to_kgram"]
    assert {"learned", "learned, norms, a_2 → ∞", "k-gram", "bag of k"} <= set(report["standings"])


def test_the_algorithm_decides_the_defaults_and_no_other_word_does():
    folder = parse(["dynamics", "two-stage", "--out", "preconditioned"])
    assert (folder.algorithm, folder.order, folder.alphabet_size, folder.prior) == ("two-stage", 1, 3, "floored")
    other = parse(["dynamics", "--json", "preconditioned", "--out", "two-stage", "--steps", "7"])
    assert (other.algorithm, other.order, other.prior, other.steps) == ("preconditioned", 2, "reversible", 7)


def test_python_has_the_defaults_of_the_command():
    for algorithm, settings in (("two-stage", TwoStage()), ("preconditioned", Preconditioned())):
        assert vars(settings).items() <= vars(parse(["dynamics", algorithm])).items()


def test_bad_input_is_one_line(run, tmp_path):
    for words, said in (
        (("two-stage", "--jointly"), "--jointly continues Algorithm 2; use it with preconditioned"),
        (("preconditioned", "--sweep", 8, 16, 32), "--sweep applies to Algorithm 1; use it with two-stage"),
        (("two-stage", "--order", 2), "order 2, the two-stage algorithm applies to order 1"),
        (("two-stage", "--rate", "-1"), "rate is -1.0, must be above 0"),
        (("sideways",), "sideways"),
    ):
        code, text, errors = run("dynamics", *words, "--out", tmp_path / "none")
        assert code == 2
        assert text == ""
        assert errors.count("\n") == 1
        assert said in errors
    assert not (tmp_path / "none").exists()
