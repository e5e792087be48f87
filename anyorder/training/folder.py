"""The folder of a run: its files, and the beginning, continuation and end of a run in it.

A checkpoint is one safetensors file with the state of all models, the step and the config. It is replaced by an atomic
rename, so that readers find a complete one even if the writer was killed.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import warnings
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp

from anyorder.errors import InputError, require
from anyorder.io.atomic import Row, append_lines, holds, locked, read_json, read_lines, write_json, write_lines
from anyorder.io.gates import gated, read_bytes
from anyorder.io.trees import as_json, check_finite, read_tensors, write_tensors
from anyorder.models import Transformer, load, save
from anyorder.training import config_text
from anyorder.training.checks import check_config
from anyorder.training.config import Config
from anyorder.training.initial import model_shape
from anyorder.training.own import GivenModel, check_same, own_modules
from anyorder.training.step import State, start
from anyorder.training.versions import versions, versions_difference

CONFIG, METRICS, CHECKPOINT, SUMMARY = "config.json", "metrics.jsonl", "checkpoint.safetensors", "summary.json"
START, KEPT = "start.safetensors", "step-"
FORMAT, OWN_FORMAT = "anyorder training checkpoint 2", "anyorder weights of a module 1"
_EXPECTED = "the folder of a training run"


class Written(NamedTuple):
    """The metrics of a run up to a checkpoint: bytes, and their SHA-256."""

    size: int
    digest: str


class Checkpoint(NamedTuple):
    """Everything needed to resume a run."""

    step: int
    states: list[State]
    models: list[Any]
    metrics: Written


class Folder:
    """The output folder of one run, from `opened`; `lines` are the lines of its metrics."""

    def __init__(self, path: Path, config: Config) -> None:
        self.path, self.config = path, config
        self.lines: list[Row] = []
        self._written, self._size = hashlib.sha256(), 0
        self._place = _place(path)

    def begin(self, from_model: Transformer | None) -> None:
        """Write the first files of a run; the config comes last and marks the folder as a run's."""
        if from_model is not None:  # the run must not depend on a file elsewhere
            save(from_model, self.path / START)
        (self.path / METRICS).unlink(missing_ok=True)
        plugins = config_text.plugins(self.config)
        about = {"config": as_json(self.config), "versions": versions()} | ({"plugins": plugins} if plugins else {})
        write_json(self.path / CONFIG, about)
        self._place = _place(self.path)

    def last(self, from_model: eqx.Module | None) -> Checkpoint | None:
        """The last checkpoint, if any; later metrics are dropped, because their steps run again."""
        path = self.path / METRICS
        if not (self.path / CHECKPOINT).exists():
            return None
        stored = read_checkpoint(self.path, self.config, from_model)
        lines = read_metrics(self.path)  # a damaged line is reported by its number
        data = read_bytes(path, _EXPECTED)[: stored.metrics.size] if path.exists() else b""
        self._written = hashlib.sha256(data)
        require(
            stored.metrics == Written(len(data), self._written.hexdigest()),
            f"{path} was changed since the checkpoint at step {stored.step}; restore it from a copy",
        )
        if path.exists():
            os.truncate(path, len(data))
        self.lines, self._size = lines[: data.count(b"\n")], len(data)
        return stored

    def append(self, lines: Sequence[Row]) -> None:
        """Add lines to the metrics, all in one write."""
        self._restore()
        data = append_lines(self.path / METRICS, lines)
        self._written.update(data)
        self.lines, self._size = [*self.lines, *lines], self._size + len(data)

    def _restore(self) -> None:
        """Reject a removed folder; rewrite metrics that another process removed or changed."""
        there = self._place is not None and _place(self.path) == self._place
        way_out = "look for it under another name, and resume from its last checkpoint"
        require(there, f"{self.path} was removed or renamed during the run; {way_out}")
        path = self.path / METRICS
        if (path.stat().st_size if path.exists() else 0) != self._size:
            warnings.warn(f"{path} was removed or changed during the run; it is written again", stacklevel=3)
            write_lines(path, self.lines)

    def save(self, step: int, states: list[State]) -> None:
        """Replace the checkpoint; it records the metrics so far, so that no line is lost or repeated."""
        self._restore()
        written = Written(self._size, self._written.hexdigest())
        about = {"format": FORMAT, "step": step, "config": as_json(self.config), "metrics": as_json(written)}
        write_tensors(self.path / CHECKPOINT, _by_name(states), about)

    def finish(self, summary: object, models: Sequence[eqx.Module]) -> None:
        """Write the summary and the final models."""
        self._restore()
        self._write(self.path, models)
        write_json(self.path / SUMMARY, as_json(summary))

    def keep(self, step: int, models: Sequence[eqx.Module]) -> None:
        """Write the models of a step beside the run; `kept_models` reads them."""
        self._write(self.path / f"{KEPT}{step}", models)

    def _write(self, folder: Path, models: Sequence[eqx.Module]) -> None:
        for index, model in enumerate(models):
            path = folder / f"model-{index}.safetensors"
            if isinstance(model, Transformer):
                save(model, path)
            else:  # weights only: the code is the user's
                weights = _by_name([eqx.filter(model, eqx.is_inexact_array)])
                write_tensors(path, weights, {"format": OWN_FORMAT, "model": self.config.own_model})


def _place(path: Path) -> tuple[int, int] | None:
    """The identity of a folder, independent of its name; None if it does not exist."""
    try:
        found = path.stat()
    except OSError:
        return None
    return found.st_dev, found.st_ino


@contextlib.contextmanager
def opened(path: Path, config: Config, resume: bool) -> Iterator[Folder]:
    """Lock a new run folder or one of the same config; any other folder is rejected and left unchanged."""
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
        require(not begun(path), f"{path} already contains a run; choose another `out=`, or resume with `resume=True`")
        return
    differs = config_text.config_difference(read_config(path), config)
    require(not differs, f"{path} contains a run with {differs}; keep its config, or start again with a new `out=`")
    missing = config.initial.from_model is not None and not (path / START).exists()
    require(not missing, f"{path} has lost {START}, the model that its run started from; start again with a new `out=`")


def _stored(path: Path) -> Row:
    require(path.is_dir(), f"{path} is not a folder; give {_EXPECTED}")
    if not (path / CONFIG).exists():
        raise InputError(f"{path} contains no {CONFIG}; give {_EXPECTED}, or begin one there with `out={path}`")
    return read_json(path / CONFIG, _EXPECTED, {"config": dict, "versions": dict})


def begun(path: Path) -> bool:
    """Whether a folder contains a run; without a config, the run was killed before it began, and does not count."""
    return holds(path, CONFIG, own=(START,))


@gated
def read_config(path: str | Path) -> Config:
    """The config of the run in a folder."""
    stored, file = _stored(Path(path)), str(Path(path) / CONFIG)
    return config_text.from_document(stored, file)


def read_start(path: Path) -> Transformer | None:
    """The model that the run in a folder started from, if it did not start from random weights."""
    return load(path / START) if (path / START).exists() else None


def _by_name(states: Sequence[State | eqx.Module]) -> dict[str, Any]:
    """Every array of the states, or its shape, by model and path."""
    return {
        f"{model}{jax.tree_util.keystr(path)}": leaf
        for model, state in enumerate(states)
        for path, leaf in jax.tree_util.tree_leaves_with_path(state)
    }


def read_checkpoint(folder: Path, config: Config, from_model: eqx.Module | None = None) -> Checkpoint:
    """The checkpoint in a folder; rejected unless it has the same config, start model and module."""
    path, way_out = folder / CHECKPOINT, "resume another run, or start again elsewhere"
    arrays, about = read_tensors(path)
    known = isinstance(about, dict) and about.get("format") == FORMAT
    require(known, f"{path} is not a training checkpoint of this version; {way_out}")
    differs = config_text.config_difference(config_text.from_json(about["config"], str(path)), config)
    require(not differs, f"{path} is of a run with {differs}; {way_out}")
    shape: Any = from_model
    if from_model is None or isinstance(from_model, Transformer):
        shape = model_shape(config, from_model)
    template = [eqx.filter_eval_shape(start, config, shape)] * len(config.members)
    wanted = _by_name(template)
    for name, leaf in wanted.items():
        fits = name in arrays and (arrays[name].shape, arrays[name].dtype) == (leaf.shape, leaf.dtype)
        require(fits, f"{path} has no array {name} of shape {leaf.shape} and type {leaf.dtype}; {way_out}")
    check_finite(arrays, path)
    leaves = [jnp.asarray(arrays[name], arrays[name].dtype) for name in wanted]
    states = jax.tree.unflatten(jax.tree.structure(template), leaves)
    frame = eqx.filter(
        shape, lambda leaf: eqx.is_inexact_array(leaf) or isinstance(leaf, jax.ShapeDtypeStruct), inverse=True
    )
    models = [eqx.combine(state.weights, frame) for state in states]
    return Checkpoint(about["step"], states, models, Written(**about["metrics"]))


@gated
def read_models(path: str | Path, model: GivenModel | None = None) -> tuple[int, list[Any]]:
    """The step of the last checkpoint in a folder, and the models in it.

    A run of modules needs the same `model` again, a module or a function from a key to one.
    """
    path = Path(path)
    config = read_config(path)
    check_config(config)
    modules = own_modules(config, model) if model is not None else None
    check_same(config.own_model, None if modules is None else modules.words, "model")
    stored = read_checkpoint(path, config, read_start(path) if modules is None else modules.fresh[0])
    return stored.step, stored.models


def kept_models(path: str | Path) -> dict[int, list[Transformer]]:
    """The models that a run kept while it was trained (`keep_every`), by step."""
    config, found = read_config(Path(path)), {}
    for folder in Path(path).glob(f"{KEPT}*"):
        models = [load(folder / f"model-{member.model}.safetensors") for member in config.members]
        found[int(folder.name.removeprefix(KEPT))] = models
    return dict(sorted(found.items()))


@gated
def read_metrics(path: str | Path) -> list[Row]:
    """The lines of the metrics; a last line cut short by a killed process is left out with a warning."""
    return read_lines(Path(path) / METRICS, {"kind": str, "step": int})
