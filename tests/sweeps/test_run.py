"""Carrying out a sweep: interrupted, terminated, and two in one folder."""

from __future__ import annotations

import dataclasses
import functools
import itertools
import json
import os
import pathlib
import signal
import subprocess
import sys
import time

import pytest

from anyorder import files
from anyorder.sweeps import spec, table, work
from anyorder.sweeps.row import Ended, SweepRow
from anyorder.training.config import PRESETS, Config, Data, Measurement

TINY = Config(
    seeds=1,
    data=Data(order=1, length=6),
    architecture=dataclasses.replace(PRESETS["paper"].architecture, layers=1, dimension=4, mlp="none", beginning=True),
    initial=PRESETS["paper"].initial,
    optimisation=dataclasses.replace(PRESETS["paper"].optimisation, steps=120, batch=4, warmup=3, final_rate=0.0),
    measurement=Measurement(evaluation_count=16),
)
#: Twelve runs of one shape; the last rate diverges.
GRID = spec.sweep(
    "tiny", TINY, {"learning_rate": [1e-3, 1e-2, 1e38], "weight_decay": [0.0, 1e-2]}, seeds=2, metric="gap"
)
TOML = """
preset = "paper"
seeds = 2
[set]
order = 1
length = 6
layers = 1
dimension = 4
mlp = "none"
beginning = true
batch = 4
steps = 120
warmup = 3
final_rate = 0.0
evaluation_count = 16
[axes]
learning-rate = [1e-3, 1e-2, 1e38]
weight_decay = [0.0, 1e-2]
"""


@functools.cache
def in_process():
    """The rows of GRID, trained here one after the other."""
    rows = []
    for number, (rate, decay, seed) in enumerate(itertools.product([1e-3, 1e-2, 1e38], [0.0, 1e-2], [0, 1])):
        config = dataclasses.replace(
            TINY,
            seed=seed,
            optimisation=dataclasses.replace(TINY.optimisation, learning_rate=(rate,), weight_decay=decay),
        )
        (result,) = work.train_together([config])
        rows.append(SweepRow(number, {"learning_rate": rate, "weight_decay": decay}, seed, result))
    return rows


def test_ctrl_c_leaves_a_table_that_the_same_command_completes(tmp_path):
    (tmp_path / "tiny.toml").write_text(TOML)
    out = tmp_path / "sweep"
    words = [
        sys.executable,
        "-m",
        "anyorder",
        "sweep",
        str(tmp_path / "tiny.toml"),
        "--out",
        str(out),
        "--workers",
        "1",
    ]
    with subprocess.Popen(words, stderr=subprocess.PIPE, text=True) as process:
        begun = time.monotonic()
        while not (out / "runs.jsonl").exists() or not (out / "runs.jsonl").read_text():
            assert process.poll() is None, process.stderr.read()
            assert time.monotonic() - begun < 200
            time.sleep(0.01)
        process.send_signal(signal.SIGINT)
        said = process.communicate(timeout=60)[1]
    done = len(table.read_sweep(out)[1])
    assert 0 < done < 12
    assert process.returncode == 130
    assert said.splitlines()[-1] == (
        f"anyorder: interrupted with {done} of 12 runs in {out}; the same command goes on from there"
    )
    with (out / "runs.jsonl").open("a") as stream:
        stream.write('{"run": 11, "learn')  # as a process that was killed would leave it
    again = subprocess.run([*words, "--json"], capture_output=True, text=True)
    assert again.returncode == 0, again.stderr
    report = json.loads(again.stdout)
    assert (report["runs"], report["missing"], report["done"], report["diverged"]) == (12, 12 - done, 8, 4)
    assert [json.loads(line) for line in (out / "runs.jsonl").read_text().splitlines()] == [
        row.as_json() for row in in_process()
    ]


def test_an_interruption_right_after_a_row_was_written_keeps_it(tmp_path, monkeypatch):
    def interrupted(path, rows):
        files.append_lines(path, rows)
        raise KeyboardInterrupt

    rows = table.SweepFolder(tmp_path / "sweep", GRID)
    rows.begin({})
    monkeypatch.setattr(table, "append_lines", interrupted)
    with pytest.raises(KeyboardInterrupt):
        rows.add(spec.runs(GRID)[0], Ended("failed"))
    rows.sort()
    assert [row.run for row in table.read_sweep(tmp_path / "sweep")[1]] == [0]


def test_a_terminated_sweep_ends_its_workers_within_two_seconds(tmp_path):
    (tmp_path / "tiny.toml").write_text(TOML.replace("steps = 120", "steps = 100000"))
    words = [sys.executable, "-m", "anyorder", "sweep", tmp_path / "tiny.toml", "--out", tmp_path / "sweep"]
    with subprocess.Popen([*words, "--workers", "1"], stderr=subprocess.PIPE, text=True) as process:
        assert "runs" in process.stderr.readline()  # what it is about to do: the worker is there
        children = pathlib.Path(f"/proc/{process.pid}/task/{process.pid}/children").read_text().split()
        assert len(children) == 1
        begun = time.monotonic()
        process.terminate()
        said = process.communicate(timeout=60)[1]
    assert time.monotonic() - begun < 2
    assert process.returncode == 143
    assert said.splitlines()[-1].startswith("anyorder: interrupted with ")
    assert not any(pathlib.Path(f"/proc/{child}").exists() for child in children)


def test_a_sweep_that_runs_is_not_touched_by_a_second_one(tmp_path, run):
    (tmp_path / "tiny.toml").write_text(TOML)
    with files.locked(tmp_path / "sweep"):
        code, _, error = run("sweep", tmp_path / "tiny.toml", "--out", tmp_path / "sweep")
    assert code == 2
    assert f"{tmp_path / 'sweep'} is in use by process {os.getpid()} on " in error
