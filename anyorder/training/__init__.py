"""Training: configs, initial weights, the compiled step, runs with checkpoints, and what is measured on them.

Parts are loaded when they are first named: a config can be read and checked without JAX.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from anyorder.training.config import PRESETS as PRESETS
    from anyorder.training.config import Config as Config
    from anyorder.training.evaluation import evaluate as evaluate
    from anyorder.training.run import train as train

_HOMES = {"Config": "config", "PRESETS": "config", "evaluate": "evaluation", "train": "run"}

__all__ = ["PRESETS", "Config", "evaluate", "train"]


def __getattr__(name: str) -> object:
    if name in _HOMES:
        return getattr(importlib.import_module(f"anyorder.training.{_HOMES[name]}"), name)
    raise AttributeError(f"module 'anyorder.training' has no attribute {name!r}")
