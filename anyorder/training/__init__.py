"""Training: configs, initial weights, the compiled step, runs with checkpoints, and what is measured on them.

A config can be read and checked without JAX: what needs JAX is loaded when it is first named.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from anyorder.lazy import when_named
from anyorder.training.config import (
    PRESETS,
    Architecture,
    Config,
    Data,
    Initial,
    Measurement,
    Optimisation,
    changed,
    preset,
)

if TYPE_CHECKING:
    from anyorder.training.evaluation import evaluate as evaluate
    from anyorder.training.evaluation import evaluation_set as evaluation_set
    from anyorder.training.run import train as train

_HOMES = {"evaluate": "evaluation", "evaluation_set": "evaluation", "train": "run"}

__all__ = ["PRESETS", "Architecture", "Config", "Data", "Initial", "Measurement", "Optimisation", "changed", "preset"]
__all__ += _HOMES

if not TYPE_CHECKING:  # so that a type checker sees a misspelt name
    __getattr__, __dir__ = when_named(__name__, _HOMES)
