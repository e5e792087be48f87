"""The grid of the paper."""

from __future__ import annotations

from anyorder.sweeps import spec
from anyorder.training.config import preset

#: App. H.5 at order 2, with its 30,000 steps and five repetitions: 19,440 runs.
PAPER_GRID = spec.sweep(
    "paper-grid",
    preset("paper"),
    {
        "length": [8, 32, 64],
        "dimension": [32, 64, 128],
        "heads": [1, 2],
        "batch": [16, 32, 64],
        "learning_rate": [1e-4, 1e-3, 1e-2],
        "weight_decay": [0.0, 1e-4, 1e-3],
        "beta1": [0.85, 0.9],
        "beta2": [0.9, 0.95],
        "dropout": [0.0, 0.1],
    },
    seeds=5,
)
