"""A small model and sequences that several tests of quantised networks share."""

import jax
import jax.numpy as jnp
import numpy as np

from anyorder.training import config as configs
from anyorder.training.config import PRESETS
from anyorder.training.initial import initial_model

TOKENS = jnp.asarray(np.random.default_rng(0).integers(0, 2, (2, 12)), jnp.int32)


def model(preset, **changes):
    config = configs.changed(PRESETS[preset], {"dimension": 16, "length": 12, "weights": "fan-in", **changes})
    return initial_model(config, jax.random.key(0))
