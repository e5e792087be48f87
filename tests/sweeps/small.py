"""A tiny sweep, its rows, and made-up rows."""

import dataclasses
import functools
import itertools

from anyorder.sweeps import chunk, spec
from anyorder.sweeps.table import Ended, SweepRow
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
        (result,) = chunk.train_together([config])
        rows.append(SweepRow(number, {"learning_rate": rate, "weight_decay": decay}, seed, result))
    return rows


def made(axes, seeds=3, metric="gap"):
    """A sweep with made-up rows: the gap is the sum of the indices on the axes, plus a little for each seed."""
    grid = spec.sweep("made", PRESETS["floor"], axes, seeds=seeds, metric=metric)
    rows = []
    for one in spec.runs(grid):
        gap = 0.001 * (1 + sum(grid.axes[name].index(value) for name, value in one.values.items())) + 1e-4 * one.seed
        numbers = {"gap": gap, "excess": 0.1 + gap, "floor_excess": 0.1, "attention": 0.4 + 0.1 * one.seed}
        measured = Ended("done", **numbers, matching_mass=0.6, distance=1.0, loss=0.5)
        ended = Ended("diverged", "…") if one.number == 1 else measured
        rows.append(SweepRow(one.number, one.values, one.seed, ended))
    return grid, rows
