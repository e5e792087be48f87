"""The head with a table: blocks of rows, one row at a time, and against loops."""

from __future__ import annotations

import jax.numpy as jnp
import numpy as np
import pytest

from anyorder.models import Recurrence
from anyorder.models.attention import SINGLE_BLOCK
from tests.models.small import random_model
from tests.oracles_constructions import recurrence_output


@pytest.fixture
def head():
    return random_model(5, features=6, initial=True).layers[0].heads[0]


def test_long_sequences_are_read_in_blocks(head):
    x = np.random.default_rng(0).normal(size=(SINGLE_BLOCK + 45, 8))
    expected, weights = recurrence_output(head, x)
    written, kept = head(jnp.asarray(x), keep_weights=True)
    np.testing.assert_allclose(written, expected, atol=1e-9)
    np.testing.assert_allclose(kept, weights, atol=1e-9)
    assert head(jnp.asarray(x), keep_weights=False)[1] is None


def test_nothing_read_is_nothing_written(head):
    silent = Recurrence(head.query, head.key, head.bias - 1e3, head.value, head.projection)
    written, weights = silent(jnp.ones((3, 8)), keep_weights=True)
    assert not written.any()
    assert not weights.any()
