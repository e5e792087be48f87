"""A step of training against the same step in PyTorch, eager and compiled, and against its matrix products alone.

Order 2, batch 32, sequences drawn inside the step; the architecture of the paper preset with d = 64, and one layer of
Mamba-2 with d = 32. Two models: in JAX on two devices of one process, in PyTorch in two processes with one thread each.
Times are per model and step. PyTorch is taken from this environment, or from that of the interpreter TORCH_PYTHON. The
products alone are those of `benchmarks.step`.
"""

import os
import pathlib
import statistics
import subprocess
import sys
import time

from benchmarks.measure import Row, show

MODELS, BATCH, STEPS, REPEATS = 2, 32, 300, 3
KINDS = ("eager", "compiled")
SCRIPT = pathlib.Path(__file__).with_name("training_torch.py")


def torch_python() -> str | None:
    """An interpreter that has PyTorch."""
    for python in filter(None, (os.environ.get("TORCH_PYTHON"), sys.executable)):
        if subprocess.run([python, "-c", "import torch"], capture_output=True).returncode == 0:
            return python
    return None


def with_torch(python: str, model: str, length: int, kind: str) -> float:
    words = [python, "-W", "ignore", str(SCRIPT), model, str(length), str(BATCH), str(STEPS), kind]
    processes = [subprocess.Popen(words, stdout=subprocess.PIPE, text=True) for _ in range(MODELS)]
    return statistics.mean(float(process.communicate()[0]) for process in processes) / MODELS


def prepared(model: str, length: int):
    """The engine of two models, compiled."""
    from anyorder.training.config import PRESETS, changed, preset
    from anyorder.training.initial import initial_model
    from anyorder.training.rounds import SideBySide, placed
    from anyorder.training.step import keys, start

    recipe = {"optimiser": "adamw", "targets": "sampled"}
    base = PRESETS["paper"] if model == "paper" else preset(mixer="mamba", layers=1, **recipe)
    config = changed(base, {"seeds": MODELS, "length": length, "batch": BATCH})
    models = [initial_model(config, keys(member.seed).weights) for member in config.members]
    side_by_side = placed([config], models[0], [start(config, model) for model in models])
    assert isinstance(side_by_side, SideBySide)
    side_by_side.run(0, 100)
    return side_by_side


def ours(side_by_side) -> float:
    began = time.perf_counter()
    side_by_side.run(100, 100 + STEPS)
    return (time.perf_counter() - began) / STEPS / MODELS * 1e3


def main() -> None:
    from benchmarks.step import measure, one_thread

    one_thread()
    from anyorder.training import devices

    devices.prepare()
    python = torch_python()
    for model, title in (("paper", "d = 64"), ("mamba", "one layer of Mamba-2, d = 32")):
        rows = []
        for length in (32, 64):
            side_by_side = prepared(model, length)
            times = [
                (ours(side_by_side), *(with_torch(python, model, length, kind) for kind in KINDS if python))
                for _ in range(REPEATS)
            ]
            mine, *theirs = (statistics.median(each) for each in zip(*times, strict=True))
            rows.append(Row(f"T = {length}: anyorder", mine, "ms per model and step"))
            if model == "paper":
                products = measure("paper", length, BATCH, profiled=False).products
                rows.append(Row(f"T = {length}: matrix products alone", products / MODELS, "ms per model and step"))
                rows.append(Row(f"T = {length}: products over anyorder", products / MODELS / mine, "×", "2/3"))
            for kind, time_of_kind in zip(KINDS, theirs, strict=False):
                rows.append(Row(f"T = {length}: PyTorch, {kind}", time_of_kind, "ms per model and step"))
                goal = "≥ 3" if kind == "eager" else ""
                rows.append(Row(f"T = {length}: PyTorch, {kind}, over anyorder", time_of_kind / mine, "×", goal))
        show(f"Training step, order 2, batch {BATCH}, {title}, {MODELS} models at once", rows)
    if python is None:
        print("  PyTorch is not installed, so it is not compared: make bench-torch installs it and compares")


if __name__ == "__main__":
    main()
