"""`attention`: causal softmax attention with relative, rotary or no positions."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import jax.numpy as jnp

from anyorder.io.numerics import dtype_of
from anyorder.models import Head
from anyorder.training.config import Config
from anyorder.training.mixers import Mixer

if TYPE_CHECKING:
    from anyorder.training.mixers import Draw

#: Base of the wavelengths of rotary positions, as in RoFormer and most models after it.
ROTARY_BASE = 10_000.0


def heads(config: Config, number: int, draw: Draw) -> dict[str, tuple[Head, ...]]:
    """The heads of a layer of attention.

    >>> len(heads(Config(), 0, lambda kind, *shape: jnp.zeros(shape))["heads"])
    1
    """
    return {"heads": tuple(_head(config, number, draw) for _ in range(config.heads[number]))}


def _head(config: Config, number: int, draw: Draw) -> Head:
    architecture = config.architecture
    d, dtype = architecture.dimension, dtype_of(config.optimisation.dtype)
    width = d // config.heads[number]
    rows = config.data.length + architecture.beginning
    here = ("first", "all") if number == 0 else ("all",)
    relative = architecture.key_positions in here and not architecture.rotary_positions
    wide = d if architecture.positions_through_key else width
    return Head(
        query=draw("matrix", width, d),
        key=draw("matrix", width, d),
        value=draw("matrix", width, d),
        projection=draw("projection", d, width),
        key_positions=draw("matrix", rows, wide) if relative else None,
        value_positions=draw("matrix", rows, width) if architecture.value_positions in here else None,
        # Random unit vectors have products of size 1/√width, which the scale normalises to 1.
        scale=jnp.asarray(math.sqrt(width), dtype) if architecture.qk_norm else 1 / math.sqrt(width),
        normalise=architecture.qk_norm,
        positions_through_key=architecture.positions_through_key,
        rotary=ROTARY_BASE if architecture.rotary_positions else None,
    )


ATTENTION = Mixer(heads)
