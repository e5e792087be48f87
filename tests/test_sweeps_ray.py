"""Sweeps on a Ray of several nodes on this machine, with a node killed in the middle."""

from __future__ import annotations

import os
import signal

import pytest

from anyorder.sweeps import run
from tests.test_sweeps import GRID, in_process

pytest.importorskip("ray", reason="Ray is not installed: pip install 'anyorder[ray]'")


@pytest.fixture
def cluster(monkeypatch):
    """A head without cores, and two nodes of one core each."""
    from ray.cluster_utils import Cluster

    monkeypatch.setenv("RAY_ENABLE_UV_RUN_RUNTIME_ENV", "0")
    started = Cluster(initialize_head=True, head_node_args={"num_cpus": 0, "include_dashboard": False})
    try:
        nodes = [started.add_node(num_cpus=1) for _ in range(2)]
        yield started, nodes
    finally:
        started.shutdown()


def test_a_killed_node_changes_nothing_in_the_table(cluster, tmp_path):
    import ray

    from anyorder.sweeps.ray_engine import Ray

    started, nodes = cluster
    raylet = nodes[0].all_processes["raylet"][0].process.pid
    planned = run.plan(GRID, tmp_path / "sweep")
    left = []

    def watch(progress):
        if progress.done + progress.failed and not left:
            left.append(progress.total - progress.done - progress.failed)
            os.kill(raylet, signal.SIGKILL)

    with run.opened(Ray(started.address)) as engine:
        assert engine.workers == 2
        rows = run.carry_out(planned, engine, watch)
        alive = [node["Alive"] for node in ray.nodes()]
    assert left[0] >= 4  # there was work in the hands of both nodes
    assert alive.count(False) == 1
    assert rows == in_process()
