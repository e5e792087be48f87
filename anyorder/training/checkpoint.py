"""Checkpoints: the state of all models of a run in one safetensors file, with the step and the config beside it.

One file and one rename: whoever reads finds the last whole checkpoint, whenever the writer was killed.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp

from anyorder.errors import require
from anyorder.tensors import read_tensors, write_tensors
from anyorder.training import config as configs
from anyorder.training.config import Config
from anyorder.training.step import State

FORMAT = "anyorder training checkpoint 1"


class Checkpoint(NamedTuple):
    """All that a run needs to go on."""

    config: Config
    step: int
    states: list[State]


def names(states: Sequence[State]) -> dict[str, Any]:
    """Every array of the states, by model and path."""
    return {
        f"{model}{jax.tree_util.keystr(path)}": leaf
        for model, state in enumerate(states)
        for path, leaf in jax.tree_util.tree_leaves_with_path(state)
    }


def save(path: Path, checkpoint: Checkpoint) -> None:
    """Write a checkpoint, whole or not at all."""
    about = {"format": FORMAT, "step": checkpoint.step, "config": configs.to_json(checkpoint.config)}
    write_tensors(path, names(checkpoint.states), about)


def load(path: Path, config: Config, template: Sequence[State]) -> Checkpoint:
    """Read a checkpoint of this very config, into states of the template's structure."""
    way_out = "resume from another run, or start anew with a new --out"
    arrays, about = read_tensors(path)
    require(
        isinstance(about, dict) and about.get("format") == FORMAT, f"{path} is not a training checkpoint; {way_out}"
    )
    differs = configs.difference(configs.from_json(about["config"], str(path)), config)
    require(not differs, f"{path} is of a run with {differs}; {way_out}")
    wanted = names(template)
    for name, leaf in wanted.items():
        fits = name in arrays and (arrays[name].shape, arrays[name].dtype) == (leaf.shape, leaf.dtype)
        require(fits, f"{path} has no array {name} of shape {leaf.shape} and type {leaf.dtype}; {way_out}")
    leaves = [jnp.asarray(arrays[name]) for name in wanted]
    states = jax.tree.unflatten(jax.tree.structure(list(template)), leaves)
    return Checkpoint(config, int(about["step"]), states)
