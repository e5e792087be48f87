"""The folder of a run: what is in it, and how it is begun, continued and finished."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import equinox as eqx

from anyorder import transformer
from anyorder.errors import InputError, require
from anyorder.files import whole_file, write_json
from anyorder.training import checkpoint as checkpoints
from anyorder.training import config as configs
from anyorder.training.checkpoint import Checkpoint
from anyorder.training.config import Config
from anyorder.training.initial import initial_model
from anyorder.training.step import State, keys, start
from anyorder.training.versions import versions
from anyorder.transformer import Transformer

CONFIG, METRICS, CHECKPOINT, SUMMARY = "config.json", "metrics.jsonl", "checkpoint.safetensors", "summary.json"
START = "start.safetensors"


class Folder:
    """Where one run writes; refused, untouched, where it cannot be that run's."""

    def __init__(self, path: Path, config: Config, resume: bool) -> None:
        self.path, self.config, self.resume = path, config, resume
        if resume:
            stored = read_config(path)
            differs = configs.difference(stored, config)
            require(not differs, f"{path} holds a run with {differs}; drop that flag, or start anew with a new --out")
        elif path.is_dir() and any(path.iterdir()):
            holds = "a run" if (path / CONFIG).exists() else "other files"
            raise InputError(f"{path} already holds {holds}; choose another --out, or continue with --resume {path}")
        else:
            require(not path.exists() or path.is_dir(), f"{path} is a file; --out is a folder")

    def begin(self, states: list[State], given: Transformer | None) -> tuple[list[State], int]:
        """The states and the step to start from; what was measured after that step is forgotten."""
        if self.resume and (self.path / CHECKPOINT).exists():
            stored = checkpoints.load(self.path / CHECKPOINT, self.config, states)
            kept = [line for line in read_metrics(self.path) if line["step"] <= stored.step]
            with whole_file(self.path / METRICS) as temporary:
                temporary.write_text("".join(map(_line, kept)), encoding="utf-8")
            return stored.states, stored.step
        if given is not None:  # the run must not depend on a file elsewhere
            transformer.save(given, self.path / START)
        write_json(self.path / CONFIG, {"config": configs.to_json(self.config), "versions": versions()})
        (self.path / METRICS).unlink(missing_ok=True)
        return states, 0

    def append(self, lines: Sequence[dict[str, Any]]) -> None:
        """Add lines to the metrics, all in one write."""
        with (self.path / METRICS).open("a", encoding="utf-8") as stream:
            stream.write("".join(map(_line, lines)))

    def save(self, checkpoint: Checkpoint) -> None:
        """Replace the checkpoint."""
        checkpoints.save(self.path / CHECKPOINT, checkpoint)

    def finish(self, summary: dict[str, Any], models: Sequence[Transformer]) -> None:
        """Write what a finished run leaves behind."""
        for index, model in enumerate(models):
            transformer.save(model, self.path / f"model-{index}.safetensors")
        write_json(self.path / SUMMARY, summary)


def _line(values: dict[str, Any]) -> str:
    return json.dumps(values, allow_nan=False) + "\n"


def read_config(path: Path) -> Config:
    """The config of the run in a folder."""
    require(path.is_dir(), f"{path} is not a folder; give the --out folder of a training run")
    try:
        stored = json.loads((path / CONFIG).read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise InputError(f"{path} holds no {CONFIG}; give the --out folder of a training run") from None
    except (OSError, ValueError):
        raise InputError(f"{path / CONFIG} is not a whole JSON file; give another run") from None
    require(isinstance(stored, dict) and "config" in stored, f"{path / CONFIG} has no config; give another run")
    return configs.from_json(stored["config"], str(path / CONFIG))


def read_start(path: Path) -> Transformer | None:
    """The model that the run in a folder started from, if it did not start from random weights."""
    return transformer.load(path / START) if (path / START).exists() else None


def read_models(path: Path) -> tuple[int, list[Transformer]]:
    """The step of the last checkpoint in a folder, and the models in it."""
    config = read_config(path)
    configs.check(config)
    given = read_start(path)
    frames = [initial_model(config, keys(seed).weights, given) for seed, _ in config.members]
    stored = checkpoints.load(path / CHECKPOINT, config, [start(config, model) for model in frames])
    models = [eqx.combine(state.weights, frame) for state, frame in zip(stored.states, frames, strict=True)]
    return stored.step, models


def read_metrics(path: Path) -> list[dict[str, Any]]:
    """Every whole line of the metrics; a last line cut short by a killed process is left out."""
    lines = []
    file = path / METRICS
    for text in file.read_text(encoding="utf-8").splitlines() if file.exists() else ():
        try:
            lines.append(json.loads(text))
        except ValueError:
            break
    return lines
