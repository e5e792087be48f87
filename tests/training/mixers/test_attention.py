"""Initial weights of attention: positions and depth."""

from __future__ import annotations

import jax.numpy as jnp
import numpy as np
import pytest

from anyorder.training import preset
from anyorder.training.initial import initial_model

TOKENS = np.random.default_rng(0).integers(0, 2, 32)


def test_rotary_positions_replace_relative_ones():
    heads = [layer.heads[0] for layer in initial_model(preset(rotary_positions=True), 0).layers]
    assert all(head.rotary == 10_000 and head.key_positions is None for head in heads)


@pytest.mark.parametrize("mlp", ["paper", "gpt2"])
@pytest.mark.slow
def test_the_stream_of_twelve_layers_starts_like_that_of_three(mlp):
    deep, shallow = (
        initial_model(preset(layers=layers, mlp=mlp, zero_output=False), 0).trace(TOKENS) for layers in (12, 3)
    )
    assert len(deep.attention) == 12
    sizes = [float(jnp.sqrt(jnp.mean(trace.streams[-1] ** 2))) for trace in (deep, shallow)]
    assert sizes[0] == pytest.approx(sizes[1], rel=0.3)
