"""Checkpoints."""

import jax
import numpy as np

from anyorder.training import checkpoint
from tests.training.small import PAIR


def test_a_checkpoint_is_what_was_saved(tmp_path):
    """Every array of the state, optimiser included, comes back with its bits and its type."""
    from anyorder.training.initial import initial_model
    from anyorder.training.step import keys, start

    states = [start(PAIR, initial_model(PAIR, keys(member.seed).weights)) for member in PAIR.members]
    written = checkpoint.Written(0, "")
    checkpoint.save(tmp_path / "c.safetensors", checkpoint.Checkpoint(PAIR, 7, states, written))
    back = checkpoint.load(tmp_path / "c.safetensors", PAIR, states)
    assert (back.step, back.config) == (7, PAIR)
    for one, other in zip(jax.tree.leaves(back.states), jax.tree.leaves(states), strict=True):
        assert one.dtype == other.dtype
        np.testing.assert_array_equal(one, other)
