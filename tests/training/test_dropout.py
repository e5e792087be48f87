"""Dropout: what it drops on average, and that none is none."""

from __future__ import annotations

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

from anyorder.training.dropout import dropout
from anyorder.training.initial import initial_model
from anyorder.training.step import batch_loss
from tests.training.small import VALUE_POSITIONS, settings


@pytest.mark.slow
def test_dropout_keeps_the_mean_of_what_it_drops():
    config = settings({"layers": 1, "mlp": "none", "key_positions": "none"}, dropout=0.5)
    model = initial_model(config, jax.random.key(0))
    # With no attention to speak of the logits are linear in the dropped embeddings.
    model = eqx.tree_at(lambda model: model.layers[0].heads[0].value, model, jnp.zeros((8, 8)))
    tokens = jnp.asarray([0, 1, 2], jnp.int32)

    def logits(key):
        logarithms = model.log_probabilities(tokens, hook=dropout(0.5, key))
        return logarithms - logarithms.mean(axis=-1, keepdims=True)

    dropped = jax.vmap(logits)(jax.random.split(jax.random.key(1), 20_000))
    whole = model.logits(tokens)
    assert float(dropped.std(axis=0).min()) > 0.05
    np.testing.assert_allclose(dropped.mean(axis=0), whole - whole.mean(axis=-1, keepdims=True), atol=0.05)


@pytest.mark.parametrize("architecture", [{}, VALUE_POSITIONS])
@pytest.mark.slow
def test_a_step_with_dropout_takes_another_loss_and_none_takes_the_plain_one(architecture):
    model = initial_model(settings(architecture), jax.random.key(0))
    source = settings(architecture).source
    losses = [
        float(batch_loss(model, settings(architecture, dropout=p).optimisation, source, jax.random.key(3)))
        for p in (0.0, 1e-12, 0.3)
    ]
    assert losses[0] == pytest.approx(losses[1], abs=1e-9)
    assert abs(losses[2] - losses[0]) > 1e-6
