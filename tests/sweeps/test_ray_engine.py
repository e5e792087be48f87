"""Sweeps on a Ray of several nodes on this machine, with a node killed in the middle."""

from __future__ import annotations

import json
import os
import pathlib
import signal
from contextlib import closing

import pytest

from anyorder.io import plugins
from anyorder.sweeps import chunk, run, spec, table
from anyorder.sweeps.engine import pack
from tests.sweeps.small import TINY

pytestmark = pytest.mark.slow

pytest.importorskip("ray", reason="Ray is not installed: pip install '.[ray]' in a clone")

#: Six runs of one shape, each about a second; the last rate diverges.
GRID = spec.sweep("six", TINY, {"steps": [3000], "learning_rate": [1e-3, 1e-2, 1e38]}, seeds=2)


@pytest.fixture
def cluster():
    """A head without cores, and two nodes of one core each."""
    from ray.cluster_utils import Cluster

    started = Cluster(initialize_head=True, head_node_args={"num_cpus": 0, "include_dashboard": False})
    try:
        yield started, [started.add_node(num_cpus=1) for _ in range(2)]
    finally:
        started.shutdown()


def works(raylet):
    """Whether a process that this raylet started is in the middle of a task: Ray names it after the function."""
    for entry in pathlib.Path("/proc").glob("[0-9]*"):
        try:
            parent = int((entry / "stat").read_text().rpartition(")")[2].split()[1])
            if parent == raylet and (entry / "cmdline").read_bytes().startswith(b"ray::work"):
                return True
        except (OSError, ValueError):
            continue  # it has ended meanwhile
    return False


@pytest.mark.skipif(not pathlib.Path("/proc/self/cmdline").exists(), reason="looks into /proc, which only Linux has")
def test_a_killed_node_changes_nothing_in_the_table(cluster, tmp_path):
    from anyorder.sweeps.ray_engine import Ray

    started, nodes = cluster
    raylets = [node.all_processes["raylet"][0].process for node in nodes]
    planned = run.plan_sweep(GRID, tmp_path / "sweep")
    killed = []

    def watch(progress):
        if progress.done and not killed:
            busy = [raylet for raylet in raylets if works(raylet.pid)]
            killed.extend(busy[:1])
            os.kill(busy[0].pid, signal.SIGKILL)

    with closing(Ray(started.address)) as engine:
        assert engine.workers == 2
        rows = run.carry_out(planned, engine, watch)
    assert killed[0].wait(10) == -signal.SIGKILL
    expected = [chunk.train_together([one.config])[0] for one in planned.runs]
    assert [row.ended for row in rows] == expected
    assert [row.ended.outcome for row in rows] == ["done"] * 4 + ["diverged"] * 2
    assert table.read_sweep(tmp_path / "sweep") == (GRID, rows)


def test_a_task_loads_the_plug_ins_of_the_program_that_sent_it(plugin, monkeypatch):
    from anyorder.sweeps.ray_engine import work

    path = plugin("from anyorder.chains import Dirichlet\n\n\nclass Far(Dirichlet):\n    name = 'far'\n")
    grid = spec.sweep("far", TINY, {"prior": ["far"], "steps": [2]}, metric="excess")
    packed = pack(spec.runs(grid))
    monkeypatch.setenv(plugins.VARIABLE, "")  # of another machine
    ((_, answer, _),) = json.loads(work(packed, ""))
    assert answer["outcome"] == "failed"
    ((_, answer, _),) = json.loads(work(packed, str(path)))
    assert answer["outcome"] == "done"
