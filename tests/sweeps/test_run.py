"""Carrying out a sweep: interrupted, terminated, and two in one folder."""

from __future__ import annotations

import json
import os
import pathlib
import signal
import subprocess
import sys
import time

import pytest

from anyorder.io import atomic
from anyorder.sweeps import table
from tests.sweeps.small import TOML, in_process


@pytest.mark.slow
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
        f"anyorder: interrupted with {done} of 12 runs in {out}; the same command resumes there"
    )
    with (out / "runs.jsonl").open("a") as stream:
        stream.write('{"run": 11, "learn')  # as a killed process would leave it
    again = subprocess.run([*words, "--json"], capture_output=True, text=True)
    assert again.returncode == 0, again.stderr
    report = json.loads(again.stdout)
    assert (report["runs"], report["missing"], report["done"], report["diverged"]) == (12, 12 - done, 8, 4)
    assert [json.loads(line) for line in (out / "runs.jsonl").read_text().splitlines()] == [
        row.as_json() for row in in_process()
    ]


@pytest.mark.slow
def test_a_terminated_sweep_ends_its_workers_within_two_seconds(tmp_path):
    (tmp_path / "tiny.toml").write_text(TOML.replace("steps = 120", "steps = 100000"))
    words = [sys.executable, "-m", "anyorder", "sweep", tmp_path / "tiny.toml", "--out", tmp_path / "sweep"]
    with subprocess.Popen([*words, "--workers", "1"], stderr=subprocess.PIPE, text=True) as process:
        assert "runs" in process.stderr.readline()  # the announced plan: the worker has started
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
    with atomic.locked(tmp_path / "sweep"):
        code, _, error = run("sweep", tmp_path / "tiny.toml", "--out", tmp_path / "sweep")
    assert code == 2
    assert f"{tmp_path / 'sweep'} is in use by process {os.getpid()} on " in error
