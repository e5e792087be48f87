"""A sweep of twelve runs against the same runs started one by one with `anyorder train`; and Ray against local.

Order 2, T = 32, d = 32, batch 32, the architecture of the floor preset. Times include starting processes and compiling,
into a program cache that is empty at first and shared from then on. The second comparison has runs of at least twenty
seconds, on the local engine and on a Ray cluster of simulated nodes on loopback, a core each: model-steps per second
and core, without the start of the engine, which is shown separately.
"""

import importlib.util
import os
import pathlib
import shlex
import subprocess
import sys
import tempfile
import time
from contextlib import closing

from anyorder.sweeps import spec
from anyorder.sweeps.engine import Engine
from anyorder.sweeps.local import Local
from anyorder.sweeps.run import carry_out, plan_sweep
from anyorder.training import config as configs
from anyorder.training import config_text, devices
from anyorder.training.config import PRESETS
from benchmarks.measure import Row, show

STEPS, LONG = 300, 16_000
RATES, DECAYS = [1e-3, 3e-3, 1e-2], [0.0, 1e-3]
BASE = configs.changed(
    PRESETS["floor"],
    {"steps": STEPS, "dimension": 32, "batch": 32, "warmup": 50, "evaluation_count": 1024, "seeds": 1},
)


def swept(sweep: spec.Sweep, engine: Engine, folder: pathlib.Path) -> float:
    planned = plan_sweep(sweep, folder)
    began = time.perf_counter()
    with closing(engine):
        rows = carry_out(planned, engine)
    assert all(row.ended.outcome == "done" for row in rows), rows
    return time.perf_counter() - began


def one_by_one(sweep: spec.Sweep, folder: pathlib.Path) -> float:
    began = time.perf_counter()
    for run in spec.runs(sweep):
        words = shlex.split(config_text.command(run.config))[1:]
        subprocess.run(
            [sys.executable, "-m", "anyorder", *words, "--out", str(folder / str(run.number))],
            check=True,
            capture_output=True,
        )
    return time.perf_counter() - began


def main() -> None:
    sweep = spec.sweep("bench", BASE, {"learning_rate": RATES, "weight_decay": DECAYS}, seeds=2)
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        os.environ["ANYORDER_CACHE"] = str(folder / "cache-sweep")
        began = time.perf_counter()
        engine = Local()
        together = time.perf_counter() - began + swept(sweep, engine, folder / "together")
        os.environ["ANYORDER_CACHE"] = str(folder / "cache-train")
        alone = one_by_one(sweep, folder)
        steps = sweep.count * STEPS
        rows = [
            Row(f"sweep, {engine.workers} workers", steps / together, "model-steps per second, with compilation"),
            Row("anyorder train, one by one", steps / alone, "model-steps per second"),
            Row("ratio", alone / together, "×", "≥ 2"),
        ]
        show(f"{sweep.count} runs of {STEPS} steps, {devices.cores()} cores", rows)
        if importlib.util.find_spec("ray") is None:
            print("  Ray is not installed, so it is not compared: pip install '.[ray]' in a clone")
            return
        from ray.cluster_utils import Cluster

        from anyorder.sweeps.ray_engine import Ray

        base = configs.changed(BASE, {"steps": LONG})
        long = spec.sweep("long", base, {"learning_rate": RATES[:2]}, seeds=2)
        os.environ["ANYORDER_CACHE"] = str(folder / "cache-sweep")  # both find their programs there
        began = time.perf_counter()
        engine = Local()
        local_start = time.perf_counter() - began
        local = swept(long, engine, folder / "local")
        began = time.perf_counter()
        nodes = Cluster(initialize_head=True, head_node_args={"num_cpus": 0, "include_dashboard": False})
        for _ in range(engine.workers):
            nodes.add_node(num_cpus=1)
        cluster = Ray(nodes.address)
        ray_start = time.perf_counter() - began
        ray = swept(long, cluster, folder / "ray")
        nodes.shutdown()
        same = (folder / "local" / "runs.jsonl").read_bytes() == (folder / "ray" / "runs.jsonl").read_bytes()
        done, unit = long.count * LONG / engine.workers, "model-steps per second and core, after"
        rows = [
            Row("local", done / local, f"{unit} {local_start:.1f} s to start"),
            Row(f"Ray, {cluster.workers} nodes", done / ray, f"{unit} {ray_start:.1f} s to start"),
            Row("Ray over local", local / ray, "×", "≥ 0.87"),
            Row("the same table, byte for byte", float(same), "", "1"),
        ]
        show(f"{long.count} runs of {LONG} steps ({local * engine.workers / long.count:.0f} s each)", rows)


if __name__ == "__main__":
    main()
