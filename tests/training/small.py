"""Small models, settings and inputs that several tests of training share."""

from __future__ import annotations

import dataclasses
import os
import pathlib

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np

from anyorder.training.config import PRESETS, Config, Data, Initial, Measurement, Optimisation
from anyorder.training.optimiser import numbers

ROOT = pathlib.Path(__file__).parents[2]
VALUE_POSITIONS = {"value_positions": "all", "heads": (2, 1), "beginning": True}
SYMBOLS, LENGTH = 3, 9
#: A run of one model that takes a second, and the same of two.
TINY = Config(
    seeds=1,
    data=Data(order=1, length=6),
    architecture=dataclasses.replace(PRESETS["paper"].architecture, layers=1, dimension=4, mlp="none", beginning=True),
    initial=PRESETS["paper"].initial,
    optimisation=Optimisation(optimiser="adamw", steps=120, batch=4, warmup=3, learning_rate=(1e-2,), final_rate=0.0),
    measurement=Measurement(evaluation_count=16, evaluate_every=60, checkpoint_every=40),
)
PAIR = dataclasses.replace(TINY, seeds=2)


def inputs(config, rate):
    """The inputs of a compiled step besides the state and the key."""
    return numbers(config, rate), config.source.as_inputs(config.optimisation.dtype)


def settings(architecture, *, dtype="float64", length=LENGTH, **optimisation):
    return Config(
        data=Data(length=length, alphabet_size=SYMBOLS),
        architecture=dataclasses.replace(PRESETS["paper"].architecture, **{"dimension": 8, **architecture}),
        initial=Initial(zero_output=False),
        optimisation=dataclasses.replace(PRESETS["paper"].optimisation, dtype=dtype, **{"batch": 4, **optimisation}),
    )


def moved(model, size=0.1):
    """The model with every weight moved, so that no gain is one and no bias zero."""
    weights, rest = eqx.partition(model, eqx.is_inexact_array)
    leaves, structure = jax.tree.flatten(weights)
    rng = np.random.default_rng(0)
    leaves = [leaf + jnp.asarray(size * rng.normal(size=leaf.shape), leaf.dtype) for leaf in leaves]
    return jax.tree.unflatten(structure, leaves), rest


def environment(tmp_path, devices=2):
    """For new processes: two devices on every machine, one cache of programs for all."""
    inherited = {name: value for name, value in os.environ.items() if name != "JAX_COMPILATION_CACHE_DIR"}
    return {
        **inherited,
        "PYTHONPATH": str(ROOT),
        "ANYORDER_CACHE": str(tmp_path / "cache"),
        "XLA_FLAGS": f"{os.environ['XLA_FLAGS']} --xla_force_host_platform_device_count={devices}",
    }
