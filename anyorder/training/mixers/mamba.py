"""`mamba`: heads of Mamba-2, each a recurrence behind a convolution; with decay one they are linear attention."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import jax.numpy as jnp
import numpy as np

from anyorder.io.numerics import dtype_of
from anyorder.models import Mamba
from anyorder.training.config import Config
from anyorder.training.mixers import Mixer

if TYPE_CHECKING:
    from anyorder.training.mixers import Draw

#: The first steps Δ of the heads, spread evenly on a logarithmic scale: with α = 0 a decay of exp(-Δ) per token.
SMALLEST_STEP, LARGEST_STEP = 0.01, 0.1


def _parts(config: Config, number: int, draw: Draw) -> Mapping[str, Any]:
    steps = np.geomspace(LARGEST_STEP, SMALLEST_STEP, config.heads[number])
    return {"heads": tuple(_head(config, draw, step, config.heads[number]) for step in steps)}


def _head(config: Config, draw: Draw, step: float, heads: int) -> Mamba:
    architecture = config.architecture
    d, state, dtype = architecture.dimension, architecture.state, dtype_of(config.optimisation.dtype)
    width = architecture.expansion * d // heads
    return Mamba(
        query=draw("matrix", state, d),
        key=draw("matrix", state, d),
        value=draw("matrix", width, d),
        gate=draw("matrix", width, d),
        projection=draw("projection", d, architecture.expansion * d)[:, :width],
        taps=draw("matrix", 2 * state + width, config.taps).T,
        taps_bias=jnp.zeros(2 * state + width, dtype),
        step=draw("matrix", d),
        step_bias=jnp.asarray(math.log(math.expm1(step)), dtype),
        skip=jnp.ones((), dtype),
        gain=jnp.ones(width, dtype),
        decay=jnp.zeros((), dtype) if architecture.decay == "selective" else None,
    )


def _recipe(order: int) -> Mapping[str, Any]:
    return {"heads": 4, "mlp": "none", "beginning": False, "key_positions": "none"}


MAMBA = Mixer(_parts, _recipe)
