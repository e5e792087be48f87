"""The folder of a run: what is in it, and how it is begun, continued and finished."""

from __future__ import annotations

import contextlib
import hashlib
import os
import warnings
from collections.abc import Iterator, Sequence
from pathlib import Path

import equinox as eqx

from anyorder import transformer
from anyorder.errors import InputError, require
from anyorder.files import Row, append_lines, holds, locked, read_bytes, read_json, read_lines, write_json
from anyorder.records import as_json
from anyorder.training import checkpoint as checkpoints
from anyorder.training import forms
from anyorder.training.checkpoint import Checkpoint, Written
from anyorder.training.checks import check_config
from anyorder.training.config import Config
from anyorder.training.initial import initial_model
from anyorder.training.step import State, keys, start
from anyorder.training.versions import versions, versions_difference
from anyorder.transformer import Transformer

CONFIG, METRICS, CHECKPOINT, SUMMARY = "config.json", "metrics.jsonl", "checkpoint.safetensors", "summary.json"
START = "start.safetensors"
_EXPECTED = "the folder of a training run"


class Folder:
    """Where one run writes; `opened` makes it."""

    def __init__(self, path: Path, config: Config) -> None:
        self.path, self.config = path, config
        self._written = hashlib.sha256()

    def begin(self, from_model: Transformer | None) -> None:
        """What a run has from its first moment on; the config is written last, and makes the folder a run's."""
        if from_model is not None:  # the run must not depend on a file elsewhere
            transformer.save(from_model, self.path / START)
        (self.path / METRICS).unlink(missing_ok=True)
        write_json(self.path / CONFIG, {"config": as_json(self.config), "versions": versions()})

    def last(self, states: Sequence[State]) -> Checkpoint | None:
        """The last checkpoint, if there is one; lines that were written after it are dropped, to be written again."""
        path = self.path / METRICS
        if not (self.path / CHECKPOINT).exists():
            return None
        stored = checkpoints.load(self.path / CHECKPOINT, self.config, states)
        read_metrics(self.path)  # a damaged line is refused by its number
        data = read_bytes(path, _EXPECTED)[: stored.metrics.size] if path.exists() else b""
        self._written = hashlib.sha256(data)
        require(
            stored.metrics == Written(len(data), self._written.hexdigest()),
            f"{path} is not what the run wrote up to its checkpoint at step {stored.step}; restore it from a copy",
        )
        if path.exists():
            os.truncate(path, len(data))
        return stored

    def append(self, lines: Sequence[Row]) -> None:
        """Add lines to the metrics, all in one write."""
        self._written.update(append_lines(self.path / METRICS, lines))

    def save(self, step: int, states: list[State]) -> None:
        """Replace the checkpoint; it knows the metrics up to here, so that no line is lost or repeated."""
        written = Written((self.path / METRICS).stat().st_size, self._written.hexdigest())
        checkpoints.save(self.path / CHECKPOINT, Checkpoint(self.config, step, states, written))

    def finish(self, summary: Row, models: Sequence[Transformer]) -> None:
        """Write what a finished run leaves behind."""
        for index, model in enumerate(models):
            transformer.save(model, self.path / f"model-{index}.safetensors")
        write_json(self.path / SUMMARY, summary)


@contextlib.contextmanager
def opened(path: Path, config: Config, resume: bool) -> Iterator[Folder]:
    """Hold the folder of a run, a new one or that of this very config; refused, untouched, where it is another's."""
    _check(path, config, resume)
    with locked(path):
        _check(path, config, resume)  # another process may have been there in between
        if resume:
            differs = versions_difference(_stored(path)["versions"])
            if differs:
                warnings.warn(f"{path} was begun with {differs}; the rest may differ in the last bits", stacklevel=3)
        yield Folder(path, config)


def _check(path: Path, config: Config, resume: bool) -> None:
    if not resume:
        require(not begun(path), f"{path} already holds a run; choose another `out=`, or go on with `resume=True`")
        return
    differs = forms.config_difference(read_config(path), config)
    require(not differs, f"{path} holds a run with {differs}; keep its config, or start again with a new `out=`")
    missing = config.initial.from_model is not None and not (path / START).exists()
    require(not missing, f"{path} has lost {START}, the model that its run started from; start again with a new `out=`")


def _stored(path: Path) -> Row:
    require(path.is_dir(), f"{path} is not a folder; give {_EXPECTED}")
    if not (path / CONFIG).exists():
        raise InputError(f"{path} holds no {CONFIG}; give {_EXPECTED}, or begin one there with `out={path}`")
    return read_json(path / CONFIG, _EXPECTED, {"config": dict, "versions": dict})


def begun(path: Path) -> bool:
    """Whether a folder holds a run; what a process left that was killed before its first whole file is none."""
    return holds(path, CONFIG, own=(START,))


def read_config(path: Path) -> Config:
    """The config of the run in a folder."""
    return forms.from_json(_stored(path)["config"], str(path / CONFIG))


def read_start(path: Path) -> Transformer | None:
    """The model that the run in a folder started from, if it did not start from random weights."""
    return transformer.load(path / START) if (path / START).exists() else None


def read_models(path: Path) -> tuple[int, list[Transformer]]:
    """The step of the last checkpoint in a folder, and the models in it."""
    config = read_config(path)
    check_config(config)
    from_model = read_start(path)
    frames = [initial_model(config, keys(member.seed).weights, from_model) for member in config.members]
    stored = checkpoints.load(path / CHECKPOINT, config, [start(config, model) for model in frames])
    models = [eqx.combine(state.weights, frame) for state, frame in zip(stored.states, frames, strict=True)]
    return stored.step, models


def read_metrics(path: Path) -> list[Row]:
    """The lines of the metrics; a last line cut short by a killed process is left out, and it is said."""
    return read_lines(path / METRICS, {"kind": str, "step": int})
