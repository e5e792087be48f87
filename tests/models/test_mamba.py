"""Mamba heads: the quadratic form, blocks of rows and the recurrence are one function."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from anyorder.models.attention import SINGLE_BLOCK
from anyorder.models.mamba import shares
from tests.models.small import random_model
from tests.oracles_constructions import mamba_output


@pytest.fixture(params=["selective", "one"])
def head(request):
    return random_model(3, state=4, mamba_taps=3, decay=request.param).layers[0].heads[0]


def stream(rows):
    return np.random.default_rng(rows).normal(size=(rows, 8))


def test_the_recurrence_is_the_quadratic_form(head):
    x = jnp.asarray(stream(40))
    _, rows = jax.lax.scan(lambda state, row: head.advance(state, row[None]), head.start, x)
    written, weights = head(x, keep_weights=True)
    np.testing.assert_allclose(head.write(rows[:, 0]), written, atol=1e-12)
    np.testing.assert_allclose(written, mamba_output(head, np.asarray(x))[0], atol=1e-12)
    np.testing.assert_allclose(weights, shares(head.mixing(x)), atol=1e-15)


def test_long_sequences_are_read_in_blocks(head):
    x = stream(SINGLE_BLOCK + 45)
    written, kept = head(jnp.asarray(x), keep_weights=False)
    assert kept is None
    np.testing.assert_allclose(written, mamba_output(head, x)[0], atol=1e-10)


def test_the_state_does_not_grow(head):
    state, _ = head.advance(head.start, jnp.asarray(stream(30)))
    assert [part.shape for part in state] == [part.shape for part in head.start] == [(2, 11), (4, 3)]
