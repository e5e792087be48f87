"""Checkpoints: the state of all models of a run in one safetensors file, with the step and the config beside it.

One file and one rename: whoever reads finds the last whole checkpoint, whenever the writer was killed.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

import jax
import jax.numpy as jnp
from jaxtyping import Array

from anyorder.errors import require
from anyorder.records import as_json, check_finite, read_tensors, write_tensors
from anyorder.training import forms
from anyorder.training.config import Config
from anyorder.training.step import State

FORMAT = "anyorder training checkpoint 2"


class Written(NamedTuple):
    """The metrics of a run up to a checkpoint: bytes, and their SHA-256."""

    size: int
    digest: str


class Checkpoint(NamedTuple):
    """All that a run needs to go on."""

    config: Config
    step: int
    states: list[State]
    metrics: Written


def names(states: Sequence[State]) -> dict[str, Array]:
    """Every array of the states, by model and path."""
    return {
        f"{model}{jax.tree_util.keystr(path)}": leaf
        for model, state in enumerate(states)
        for path, leaf in jax.tree_util.tree_leaves_with_path(state)
    }


def save(path: Path, checkpoint: Checkpoint) -> None:
    """Write a checkpoint, whole or not at all."""
    about = {
        "format": FORMAT,
        "step": checkpoint.step,
        "config": as_json(checkpoint.config),
        "metrics": checkpoint.metrics._asdict(),
    }
    write_tensors(path, names(checkpoint.states), about)


def load(path: Path, config: Config, template: Sequence[State]) -> Checkpoint:
    """Read a checkpoint of this very config, into states of the template's structure."""
    way_out = "resume another run, or start again elsewhere"
    arrays, about = read_tensors(path)
    known = isinstance(about, dict) and about.get("format") == FORMAT
    require(known, f"{path} is not a training checkpoint of this version; {way_out}")
    differs = forms.config_difference(forms.from_json(about["config"], str(path)), config)
    require(not differs, f"{path} is of a run with {differs}; {way_out}")
    wanted = names(template)
    for name, leaf in wanted.items():
        fits = name in arrays and (arrays[name].shape, arrays[name].dtype) == (leaf.shape, leaf.dtype)
        require(fits, f"{path} has no array {name} of shape {leaf.shape} and type {leaf.dtype}; {way_out}")
    check_finite(arrays, path)
    leaves = [jnp.asarray(arrays[name], arrays[name].dtype) for name in wanted]
    states = jax.tree.unflatten(jax.tree.structure(list(template)), leaves)
    return Checkpoint(config, about["step"], states, Written(**about["metrics"]))
