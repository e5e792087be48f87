"""Workers that die."""

from __future__ import annotations

import signal
import sys
from contextlib import closing

import pytest

from anyorder.io import plugins
from anyorder.sweeps import chunk, local, run, spec, table
from anyorder.sweeps.engine import pack
from anyorder.training import config as configs
from tests.sweeps.small import GRID, TINY, in_process

pytestmark = pytest.mark.slow


def test_a_killed_worker_changes_nothing_in_the_table(tmp_path):
    engine = local.Local(2)
    killed = []

    def watch(progress):
        if progress.done + progress.failed and not killed:
            killed.append(progress.running)
            for worker in engine._workers:
                worker.process.send_signal(signal.SIGKILL)

    planned = run.plan_sweep(GRID, tmp_path / "sweep")
    assert (len(planned.missing), planned.shapes) == (12, 1)
    with closing(engine):
        rows = run.carry_out(planned, engine, watch)
    assert killed
    assert rows == in_process()
    assert [row.ended.outcome for row in rows] == ["done"] * 8 + ["diverged"] * 4
    assert table.read_sweep(tmp_path / "sweep") == (GRID, rows)
    assert run.plan_sweep(GRID, tmp_path / "sweep").missing == []


def test_a_run_that_takes_its_worker_with_it_fails_and_the_others_go_on(tmp_path, monkeypatch):
    """A worker that dies on the second run of every chunk, and answers for all others."""
    program = tmp_path / "python"
    program.write_text(
        f'#!{sys.executable}\nimport json, os, sys\nprint(\'{{"backend": "cpu"}}\', flush=True)\n'
        "for line in sys.stdin:\n    for number, _ in json.loads(line):\n"
        "        if number == 5: os.kill(os.getpid(), 9)\n"
        "        print(json.dumps([number, {'outcome': 'diverged', 'reason': None}, 0.1]), flush=True)\n"
    )
    program.chmod(0o755)
    monkeypatch.setattr(sys, "executable", str(program))
    planned = run.plan_sweep(GRID, tmp_path / "sweep")
    with closing(local.Local(2)) as engine:
        rows = run.carry_out(planned, engine)
    assert [row.run for row in rows if row.ended.outcome == "diverged"] == [0, 1, 2, 3, 4, 6, 7, 8, 9, 10, 11]
    assert rows[5].ended.reason == "the worker ended with signal 9, 3 times"
    assert run.plan_sweep(GRID, tmp_path / "sweep").missing == []
    assert [one.number for one in run.plan_sweep(GRID, tmp_path / "sweep", again=True).missing] == [5]


def test_workers_know_the_plug_ins(tmp_path, plugin, monkeypatch):
    plugin(
        "from anyorder.chains import Dirichlet\n\n\nclass Mine(Dirichlet):\n    name = 'mine'\n\n"
        "    def draw(self, key, dtype):\n        return (super().draw(key, dtype) + 0.5) / 2\n"
    )
    grid = spec.sweep("own", configs.changed(TINY, {"steps": 2}), {"prior": ["dirichlet", "mine"]}, metric="excess")
    planned = run.plan_sweep(grid, tmp_path / "sweep")
    with closing(local.Local(1)) as engine:
        rows = run.carry_out(planned, engine)
    assert [row.ended.outcome for row in rows] == ["done", "done"]
    losses = [row.ended.true_loss for row in rows]
    assert losses[0] < losses[1]  # rows near uniform
    packed = pack(planned.runs[1:])
    monkeypatch.delenv(plugins.VARIABLE)
    ((_, answer, _),) = chunk.answers(packed)
    assert answer["reason"].startswith("the config has prior 'mine', must be one of dirichlet, floored")
