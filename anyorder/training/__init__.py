"""Training: configs, initial weights, the compiled step, runs with checkpoints, and what is measured on them.

Parts are loaded when they are first named: a config can be read and checked without JAX.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from anyorder.lazy import when_named

if TYPE_CHECKING:
    from anyorder.training.config import PRESETS as PRESETS
    from anyorder.training.config import Architecture as Architecture
    from anyorder.training.config import Config as Config
    from anyorder.training.config import Data as Data
    from anyorder.training.config import Initial as Initial
    from anyorder.training.config import Measurement as Measurement
    from anyorder.training.config import Optimisation as Optimisation
    from anyorder.training.config import changed as changed
    from anyorder.training.config import preset as preset
    from anyorder.training.evaluation import evaluate as evaluate
    from anyorder.training.evaluation import evaluation_set as evaluation_set
    from anyorder.training.run import train as train

_HOMES = {
    "Architecture": "config",
    "Config": "config",
    "Data": "config",
    "Initial": "config",
    "Measurement": "config",
    "Optimisation": "config",
    "PRESETS": "config",
    "changed": "config",
    "evaluate": "evaluation",
    "evaluation_set": "evaluation",
    "preset": "config",
    "train": "run",
}

__all__ = [*_HOMES]

if not TYPE_CHECKING:  # so that a type checker sees a misspelt name
    __getattr__, __dir__ = when_named(__name__, _HOMES)
