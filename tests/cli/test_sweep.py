"""`anyorder sweep`: names, flags, and one-line refusals."""

from __future__ import annotations

import json
import socket
import subprocess
import sys
import time

import pytest

from benchmarks import crashes

BAD = {
    "learning_rat = [1]": "{file} has the unknown field 'learning_rat'; did you mean learning_rate?".replace(
        "{file}", "the sweep bad"
    ),
    "order = []": "the sweep bad has the empty axis order; give at least one value",
    "order = 3": "the sweep bad has order = 3, must be a list or a range",
    "order = ['2']": "the sweep bad has order '2', must be of type int",
    "order = [1, 1]": "the sweep bad has a value of order twice; give each once",
    "seed = [1]": "the sweep bad has the axis seed; seeds are given by `seeds`",
    "order = { from = 1 }": "the sweep bad has the range order = {'from': 1}; { from = a, to = b } takes one of step, "
    "factor, or count (with log = true if wanted)",
    "order = [1, 40]": "the sweep bad cannot run at order = 40: length is 32, must be above the order 40; "
    "pass --length 41 or more",
    "token_noise = [0.1]": "the sweep bad cannot run at token_noise = 0.1: metric is gap, these chains have no Bayes "
    "floor in closed form; choose the metric excess",
    "evaluation_seed = { from = 0, to = 1999, step = 1 }\nwarmup = { from = 0, to = 999, step = 1 }": "the sweep bad "
    "has 2,000,000 runs, more than 1,000,000; thin it with --budget N, or pass --yes",
}


@pytest.mark.parametrize("axes", BAD)
def test_bad_axes_get_one_line_and_touch_nothing(axes, run, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "bad.toml").write_text("[axes]\n" + axes)
    assert run("sweep", "bad.toml", "--out", "out") == (2, "", f"anyorder: {BAD[axes]}\n")
    assert [entry.name for entry in tmp_path.iterdir()] == ["bad.toml"]


def test_a_finished_sweep_is_put_in_order_after_a_kill_at_its_end(run, tmp_path):
    (tmp_path / "tiny.toml").write_text(crashes.TOML)
    words = ("sweep", tmp_path / "tiny.toml", "--workers", 1, "--budget", 2, "--out", tmp_path / "out")
    assert run(*words)[0] == 0
    whole = {path.name: path.read_bytes() for path in (tmp_path / "out").iterdir()}
    first, second, _ = whole["runs.jsonl"].split(b"\n")
    (tmp_path / "out" / "runs.jsonl").write_bytes(second + b"\n" + first + b"\n")
    for left in (".anyorder-lock", ".anyorder-unfinished-a.jsonl"):
        (tmp_path / "out" / left).touch()
    assert run(*words)[0] == 0
    assert {path.name: path.read_bytes() for path in (tmp_path / "out").iterdir()} == whole


def test_an_address_where_nobody_answers_is_said_within_ten_seconds(run, tmp_path):
    pytest.importorskip("ray", reason="Ray is not installed: pip install '.[ray]' in a clone")
    out = tmp_path / "out"
    code, text, error = run("sweep", "phase", "--engine", "ray", "--address", "127.0.0.1:1", "--out", out)
    assert (code, text) == (2, "")
    assert error == (
        "anyorder: nothing answers at 127.0.0.1:1 (Connection refused); start Ray there, or drop --address\n"
    )
    assert run("sweep", "phase", "--engine", "ray", "--address", "head", "--out", out)[2] == (
        "anyorder: address is 'head', must be HOST:PORT, ray://HOST:PORT or auto\n"
    )
    assert not out.exists()


@pytest.mark.slow
def test_an_address_where_something_else_listens_is_said_within_ten_seconds(tmp_path):
    pytest.importorskip("ray", reason="Ray is not installed: pip install '.[ray]' in a clone")
    with socket.create_server(("127.0.0.1", 0)) as server:
        address = f"127.0.0.1:{server.getsockname()[1]}"
        words = [sys.executable, "-m", "anyorder", "sweep", "phase", "--engine", "ray", "--address", address]
        begun = time.monotonic()
        done = subprocess.run([*words, "--out", tmp_path / "out"], capture_output=True, text=True, timeout=60)
        assert time.monotonic() - begun < 30  # ten, plus the start of Python on a busy machine
    assert done.returncode == 2
    assert any(line.startswith("anyorder: no Ray a") for line in done.stderr.splitlines())  # Ray logs beside it
    assert not (tmp_path / "out").exists()


def test_names_and_flags_of_the_command(run, tmp_path):
    assert run("sweep", "nothing", "--out", tmp_path / "x")[2] == (
        "anyorder: 'nothing' is neither a TOML file nor a sweep; choose from phase, learning-rate, paper-grid\n"
    )
    assert run("sweep", "phase", "--budget", 0, "--dry-run")[2] == (
        "anyorder: budget is 0, must be at least 1; pass --budget 1 or more\n"
    )
    assert run("sweep", "phase", "--address", "a:1", "--out", tmp_path / "x")[2] == (
        "anyorder: --address a:1 without Ray; pass --engine ray\n"
    )
    code, text, _ = run("sweep", "phase", "--dry-run", "--json")
    report = json.loads(text)
    assert (code, report["runs"], report["shapes"]) == (0, 4 * 3 * 2 * 3, 4 * 3 * 2)
    assert list(tmp_path.iterdir()) == []
