"""Sweeps: what they expand to, that both engines give what `anyorder train` gives, and what faults do to the table."""

from __future__ import annotations

import dataclasses
import functools
import itertools
import json
import os
import pathlib
import re
import signal
import socket
import subprocess
import sys
import time

import jax
import numpy as np
import pytest

from anyorder import files
from anyorder.cli.main import parse
from anyorder.errors import InputError
from anyorder.report import sweeps as figures
from anyorder.sweeps import analysis, builtin, engine, local, run, spec, table, work
from anyorder.sweeps import run as run_module
from anyorder.sweeps.row import Ended, RunMetrics, SweepRow
from anyorder.sweeps.spec import Success
from anyorder.training import config as configs
from anyorder.training import forms
from anyorder.training.config import PRESETS, Config, Data, Measurement, structure
from anyorder.training.run import train

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


# What a sweep expands to


def test_a_file_is_a_sweep(tmp_path):
    (tmp_path / "tiny.toml").write_text(TOML)
    assert spec.read(tmp_path / "tiny.toml") == GRID
    runs = spec.runs(GRID)
    assert [run.number for run in runs] == list(range(12))
    expected = itertools.product([1e-3, 1e-2, 1e38], [0.0, 1e-2], [0, 1])
    for one, (rate, decay, seed) in zip(runs, expected, strict=True):
        settings = one.config.optimisation
        assert (settings.learning_rate, settings.weight_decay, one.config.seed) == ((rate,), decay, seed)
        assert dataclasses.replace(one.config, seed=0, optimisation=TINY.optimisation) == TINY


@pytest.mark.parametrize(
    ("given", "values"),
    [
        ({"from": 8, "to": 70, "factor": 2}, (8, 16, 32, 64)),
        ({"from": 0, "to": 100, "step": 25}, (0, 25, 50, 75, 100)),
        ([3, 1], (3, 1)),
    ],
)
def test_ranges(given, values):
    assert spec.sweep("s", TINY, {"warmup": given}).axes["warmup"] == values


def test_ranges_of_real_numbers_have_round_values():
    axes = {
        "learning_rate": {"from": 1e-4, "to": 1e-2, "count": 5, "log": True},
        "token_noise": {"from": 0.0, "to": 0.3, "step": 0.1},
        "heads": [[1, 2], 1],
    }
    base = configs.changed(TINY, {"layers": 2, "transition_noise": 0.0})
    grid = spec.sweep("s", base, axes, metric="excess")
    np.testing.assert_allclose(grid.axes["learning_rate"], [10 ** (-4 + j / 2) for j in range(5)], rtol=1e-10)
    assert grid.axes["token_noise"] == (0.0, 0.1, 0.2, 0.3)
    assert [run.config.architecture.heads for run in spec.runs(grid)[:2]] == [(1, 2), (1,)]


def test_a_larger_budget_keeps_the_runs_of_a_smaller_one():
    grid = builtin.paper_grid()
    small, large = ({run.number for run in spec.runs(grid, budget)} for budget in (52, 300))
    assert len(small) == 50  # whole cells of five seeds
    assert len(large) == 300
    assert small < large
    assert all({run // 5 * 5 + seed for seed in range(5)} <= small for run in small)
    kept = spec.runs(grid, 300)
    for axis, values in grid.axes.items():  # thinned, not cut: every value of every axis is there
        assert {json.dumps(run.values[axis]) for run in kept} == set(map(json.dumps, values))


def test_numbers_share_a_shape_and_shapes_do_not():
    numbers = {"learning_rate": [1e-3, 1e-2], "beta1": [0.8, 0.9], "beta2": [0.9, 0.99], "weight_decay": [0.0, 0.1],
               "clip": [0.0, 1.0], "token_noise": [0.1, 0.2], "warmup": [1, 2]}  # fmt: skip
    grid = spec.sweep("s", TINY, numbers, seeds=2, metric="excess")
    assert [len(group) for group in spec.shapes(spec.runs(grid))] == [256]
    shapes = {"order": [1, 2], "length": [6, 7], "dimension": [4, 8], "batch": [4, 8], "mlp": ["none", "gpt2"]}
    assert len(spec.shapes(spec.runs(spec.sweep("s", TINY, shapes, seeds=2)))) == 32


def test_chunks_hold_every_run_once_and_one_shape_each():
    runs = spec.runs(spec.sweep("s", TINY, {"order": [1, 2, 3], "weight_decay": [0.0, 0.1]}, seeds=5))
    for workers, most in ((1, 4), (2, 64), (100, 64)):
        pieces = spec.chunks(runs, workers, most)
        assert sorted(run.number for piece in pieces for run in piece) == list(range(30))
        assert all(len({structure(run.config) for run in piece}) == 1 for piece in pieces)
        assert max(map(len, pieces)) <= most
        assert len(pieces) >= min(4 * workers, 30 if most > 10 else 0)


# What a run gives


def test_numbers_never_recompile():
    base = configs.changed(TINY, {"transition_noise": 0.1})
    compiled = []
    jax.monitoring.register_event_duration_secs_listener(
        lambda event, _, **about: compiled.append(about) if event.endswith("backend_compile_duration") else None
    )
    changes = {"learning_rate": 1e-2, "beta1": 0.8, "beta2": 0.99, "weight_decay": 0.0, "clip": 0.0, "seed": 7,
               "transition_noise": 0.2, "warmup": 5, "final_rate": 0.1, "evaluation_seed": 3}  # fmt: skip
    try:
        work.train_together([base])
        assert compiled  # the first run of a shape does compile
        compiled.clear()
        (result,) = work.train_together([configs.changed(base, changes)])
        assert compiled == []
    finally:
        jax.monitoring.clear_event_listeners()
    assert result.outcome == "done"
    assert result.measured.gap is not None


def test_a_row_is_what_train_measures_to_the_last_bit():
    config = dataclasses.replace(TINY, seeds=2, optimisation=dataclasses.replace(TINY.optimisation, weight_decay=0.01))
    summary = train(config).summary
    for model in summary.models:
        row = next(row.ended.measured for row in in_process() if (row.run - 2) == model.seed)
        for name in ("loss", "true_loss", "excess", "excess_error", "gap", "gap_error"):
            assert getattr(row, name) == getattr(model, name)
        assert row.floor_excess == summary.reference.floor_excess
        head = model.attention[0][0]
        chance = summary.reference.chance_matching_mass
        assert row.matching_mass == head.matching_mass
        assert row.attention == pytest.approx((head.matching_share - chance) / (1 - chance))


def test_in_a_stack_one_that_diverges_leaves_the_others_alone():
    configs = [run.config for run in spec.runs(GRID)][2:10:2]
    rows = work.train_together(configs, stacked=True)
    assert [row.outcome for row in rows] == ["done", "done", "done", "diverged"]
    for row, alone in zip(rows[:3], in_process()[2:8:2], strict=True):
        assert row.measured.excess == pytest.approx(alone.ended.measured.excess, abs=1e-4)
    assert rows[3].step == in_process()[8].ended.step < 120


# Engines


def test_a_killed_worker_changes_nothing_in_the_table(tmp_path):
    engine = local.Local(2)
    killed = []

    def watch(progress):
        if progress.done + progress.failed and not killed:
            killed.append(progress.running)
            for worker in engine._workers:
                worker.process.send_signal(signal.SIGKILL)

    planned = run.plan(GRID, tmp_path / "sweep")
    assert (len(planned.missing), planned.shapes) == (12, 1)
    with run.opened(engine):
        rows = run.carry_out(planned, engine, watch)
    assert killed
    assert rows == in_process()
    assert [row.ended.outcome for row in rows] == ["done"] * 8 + ["diverged"] * 4
    assert table.read(tmp_path / "sweep") == (GRID, rows)
    assert run.plan(GRID, tmp_path / "sweep").missing == []


def test_a_run_that_takes_its_worker_with_it_fails_and_the_others_go_on(tmp_path, monkeypatch):
    """A worker that dies on the second run of every chunk it gets, and answers for all others."""
    program = tmp_path / "python"
    program.write_text(
        f'#!{sys.executable}\nimport json, os, sys\nprint(\'{{"backend": "cpu"}}\', flush=True)\n'
        "for line in sys.stdin:\n    for number, _ in json.loads(line):\n"
        "        if number == 5: os.kill(os.getpid(), 9)\n"
        "        print(json.dumps([number, {'outcome': 'diverged', 'reason': None}, 0.1]), flush=True)\n"
    )
    program.chmod(0o755)
    monkeypatch.setattr(sys, "executable", str(program))
    planned = run.plan(GRID, tmp_path / "sweep")
    with run.opened(local.Local(2)) as engine:
        rows = run.carry_out(planned, engine)
    assert [row.run for row in rows if row.ended.outcome == "diverged"] == [0, 1, 2, 3, 4, 6, 7, 8, 9, 10, 11]
    assert rows[5].ended.reason == "the worker ended with signal 9, 3 times"
    assert run.plan(GRID, tmp_path / "sweep").missing == []
    assert [one.number for one in run.plan(GRID, tmp_path / "sweep", again=True).missing] == [5]


def test_a_run_that_raises_is_a_row_with_its_reason():
    config = configs.changed(TINY, {"from_model": "absent.safetensors"})
    ((place, result, _),) = work.results([config])
    assert place == 0
    assert result.outcome == "failed"
    assert result.reason.startswith("InputError: cannot read absent.safetensors")


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
    done = len(table.read(out)[1])
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
    assert [row.run for row in table.read(tmp_path / "sweep")[1]] == [0]


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


@pytest.mark.skipif(not pathlib.Path("/proc/self/stat").exists(), reason="looks at processes as Linux shows them")
def test_workers_end_when_their_sweep_is_killed():
    words = [sys.executable, "-m", "anyorder.sweeps.worker"]
    with subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as worker:
        worker.stdout.readline()
        long = configs.changed(TINY, {"steps": 1_000_000})
        worker.stdin.write(engine.pack([spec.Run(0, {}, 0, long)]) + "\n")
        worker.stdin.close()  # as the system does for a process that is gone
        assert worker.wait(timeout=10) == 0


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
        ("sweep.json", lambda text: text.replace("sweep 1", "sweep 9", 1), "{} holds 'anyorder sweep 9'"),
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
        run_module.plan(GRID, tmp_path / "sweep")
    assert run("show", tmp_path / "sweep")[0] == 2
    assert file.read_bytes() == before


def test_a_sweep_that_runs_is_not_touched_by_a_second_one(tmp_path, run):
    (tmp_path / "tiny.toml").write_text(TOML)
    with files.locked(tmp_path / "sweep"):
        code, _, error = run("sweep", tmp_path / "tiny.toml", "--out", tmp_path / "sweep")
    assert code == 2
    assert f"{tmp_path / 'sweep'} is in use by process {os.getpid()} on " in error


# What is shown


def made(axes, seeds=3, metric="gap"):
    """A sweep with rows that nobody trained: the gap is the sum of the places on the axes, plus a little a seed."""
    grid = spec.sweep("made", PRESETS["floor"], axes, seeds=seeds, metric=metric)
    rows = []
    for one in spec.runs(grid):
        gap = 0.001 * (1 + sum(grid.axes[name].index(value) for name, value in one.values.items())) + 1e-4 * one.seed
        numbers = {"gap": gap, "excess": 0.1 + gap, "floor_excess": 0.1, "attention": 0.4 + 0.1 * one.seed}
        measured = Ended("done", measured=RunMetrics(**numbers, matching_mass=0.6, distance=1.0, loss=0.5))
        ended = Ended("diverged", "…") if one.number == 1 else measured
        rows.append(SweepRow(one.number, one.values, one.seed, ended))
    return grid, rows


AXES = {"learning_rate": [1e-3, 3e-3, 1e-2], "order": [1, 2], "length": [16, 32, 64], "batch": [16, 32]}


@pytest.mark.parametrize("count", [1, 2, 3, 4])
def test_figures_fit_the_axes(count, tmp_path, run):
    grid, rows = made(dict(itertools.islice(AXES.items(), count)))
    figure = figures.draw(grid, rows)
    images = [image for panel in figure.axes for image in panel.get_images()]
    assert len(images) == {1: 0, 2: 1, 3: 3, 4: 0}[count]
    if images:
        assert images[0].get_array().shape == ((3, 2) if count == 2 else (2, 3))
    kept = table.SweepFolder(tmp_path / "made", grid)
    kept.rows = {row.run: row for row in rows}
    kept.begin({})
    code, text, _ = run("show", tmp_path / "made", "--json")
    report = json.loads(text)
    assert code == 0
    assert (tmp_path / "made" / "sweep.png").read_bytes()[:4] == b"\x89PNG"
    assert (report["runs"], report["of"], report["diverged"]) == (len(rows), len(rows), 1)
    # The cell of the run that diverged would be the best by its two other seeds.
    best = report["best"][0]
    assert sum(grid.axes[name].index(value) for name, value in best["values"].items()) == 1
    assert best["mean"] == pytest.approx(0.0021)
    settings = parse(report["command"].split()[1:]).settings
    assert settings == dataclasses.replace(configs.changed(PRESETS["floor"], best["values"]), seed=0, seeds=3)


def test_success_needs_both_the_floor_and_the_attention():
    grid, rows = made({"order": [1, 2]}, metric="success")
    near = Success(gap=0.0021, attention=0.45)
    grid = dataclasses.replace(grid, success=near)
    # Seeds 1 and 2 attend; of order 1 seed 1 diverged; of order 2 (gaps .0020, .0021, .0022) seeds 0 and 1 are near.
    assert [cell.metric for cell in analysis.cells(grid, rows)] == [[0.0, 0.0, 1.0], [0.0, 1.0, 0.0]]


def test_commands_give_back_any_config():
    for config in (
        *PRESETS.values(),
        configs.changed(PRESETS["floor"], {"heads": [1, 2], "beginning": False, "seed": 3}),
    ):
        assert parse(forms.command(config).split()[1:]).settings == config


# Bad input


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


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("axis = 1", "bad.toml has the unknown field 'axis'; did you mean axes?"),
        ("axes = 1", "bad.toml has axes = 1, must be a table: [axes]"),
        ("seeds = 0\n[axes]\norder=[1]", "the sweep bad has seeds 0, must be a number from 1 on or a list"),
        ('metric = "speed"\n[axes]\norder=[1]', "the sweep bad has the metric 'speed', must be one of gap, excess,"),
        ("[set]\nordr = 1", "bad.toml has the unknown field 'ordr'; did you mean order?"),
        ("[set]\nlearning_rate = [1e-3, 1e-2]\n[axes]\norder=[1]", "has several learning rates in one run"),
        ("preset = 'best'", "no preset 'best'; choose from paper,"),
        ("name = ", "bad.toml is not TOML: Invalid value"),
        ("", "the sweep bad has no axes; give at least one list under [axes]"),
    ],
)
def test_bad_files_are_one_line(text, words, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "bad.toml").write_text(text)
    with pytest.raises(InputError) as error:
        spec.read("bad.toml")
    assert words in str(error.value)
    assert "\n" not in str(error.value)


def test_folders_of_others_are_refused_and_not_touched(tmp_path, run):
    other, foreign = tmp_path / "other", tmp_path / "foreign"
    grid, _ = made({"order": [1, 2]})
    kept = table.SweepFolder(other, grid)
    kept.begin({})
    before = {entry.name: entry.read_bytes() for entry in other.iterdir()}
    assert run("sweep", "learning-rate", "--out", other)[2] == (
        f"anyorder: {other} holds the table of another sweep (no axis learning_rate, not learning_rate 0.0003 0.001 "
        "0.003 0.01 0.03); choose another --out\n"
    ).replace("no axis learning_rate, not learning_rate 0.0003 0.001 0.003 0.01 0.03", "order 1 2, not no axis order")
    assert {entry.name: entry.read_bytes() for entry in other.iterdir()} == before
    foreign.mkdir()
    (foreign / "thesis.txt").write_text("mine")
    assert run("sweep", "learning-rate", "--out", foreign)[2] == (
        f"anyorder: {foreign} already holds other files; choose another folder\n"
    )
    assert [entry.name for entry in foreign.iterdir()] == ["thesis.txt"]
    assert run("show", foreign)[0] == 2


def test_an_address_where_nobody_answers_is_said_within_ten_seconds(run, tmp_path):
    pytest.importorskip("ray", reason="Ray is not installed: pip install 'anyorder[ray]'")
    out = tmp_path / "out"
    code, text, error = run("sweep", "phase", "--engine", "ray", "--address", "127.0.0.1:1", "--out", out)
    assert (code, text) == (2, "")
    assert error == (
        "anyorder: nobody answers at 127.0.0.1:1 (Connection refused); start Ray there, or drop --address\n"
    )
    assert run("sweep", "phase", "--engine", "ray", "--address", "head", "--out", out)[2] == (
        "anyorder: address is 'head', must be HOST:PORT, ray://HOST:PORT or auto\n"
    )
    assert not out.exists()


def test_an_address_where_something_else_listens_is_said_within_ten_seconds(tmp_path):
    pytest.importorskip("ray", reason="Ray is not installed: pip install 'anyorder[ray]'")
    with socket.create_server(("127.0.0.1", 0)) as server:
        address = f"127.0.0.1:{server.getsockname()[1]}"
        words = [sys.executable, "-m", "anyorder", "sweep", "phase", "--engine", "ray", "--address", address]
        begun = time.monotonic()
        done = subprocess.run([*words, "--out", tmp_path / "out"], capture_output=True, text=True, timeout=60)
        assert time.monotonic() - begun < 30  # ten, and what a busy machine takes to start Python
    assert done.returncode == 2
    assert any(line.startswith("anyorder: no Ray a") for line in done.stderr.splitlines())  # Ray logs beside it
    assert not (tmp_path / "out").exists()


def test_names_and_flags_of_the_command(run, tmp_path):
    assert run("sweep", "nothing", "--out", tmp_path / "x")[2] == (
        "anyorder: 'nothing' is neither a TOML file nor a sweep; choose from paper-grid, phase, learning-rate\n"
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
