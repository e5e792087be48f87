"""AdamW by hand, Muon beside that of Optax, and the schedule."""

from __future__ import annotations

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import optax.contrib
import pytest

from anyorder.training.config import Config, Optimisation
from anyorder.training.initial import initial_model
from anyorder.training.optimiser import numbers, optimiser, rate
from anyorder.training.step import batch_loss, keys, program, start
from tests.training.small import inputs, moved, settings


def test_adamw_by_hand():
    """Three steps on one scalar-like weight, against the textbook recursion with decay on matrices only."""
    config = settings(
        {"mlp": "none", "layers": 1, "key_positions": "none"},
        clip=0.0,
        weight_decay=0.1,
        warmup=0,
        schedule="constant",
        steps=3,
    )
    model = initial_model(config, keys(0).weights)
    rest = eqx.filter(model, eqx.is_inexact_array, inverse=True)
    advance = jax.jit(program(config, model))
    state = start(config, model)
    after, _, _ = advance(state, keys(0).data, *inputs(config, 0.01), jnp.int32(0), jnp.int32(3))
    weights = state.weights
    first = jax.tree.map(jnp.zeros_like, weights)
    second = jax.tree.map(jnp.zeros_like, weights)
    peak = float(np.float32(0.01))
    for step in range(3):
        gradient = jax.grad(
            lambda weights, step=step: batch_loss(
                eqx.combine(weights, rest),
                config.optimisation,
                config.source,
                jax.random.fold_in(keys(0).data, step),
            )
        )(weights)
        first = jax.tree.map(lambda m, g: 0.9 * m + 0.1 * g, first, gradient)
        second = jax.tree.map(lambda v, g: 0.95 * v + 0.05 * g * g, second, gradient)

        def changed(weight, m, v, matrix, step=step):
            unbiased, squared = m / (1 - 0.9 ** (step + 1)), v / (1 - 0.95 ** (step + 1))
            return weight - peak * (unbiased / (jnp.sqrt(squared) + 1e-8) + 0.1 * matrix * weight)

        matrices = jax.tree_util.tree_map_with_path(
            lambda path, _: path[-1].name in ("query", "key", "value", "projection"), weights
        )
        assert sum(jax.tree.leaves(matrices)) == 4
        weights = jax.tree.map(changed, weights, first, second, matrices)
    for one, other in zip(jax.tree.leaves(after.weights), jax.tree.leaves(weights), strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-9, atol=1e-12)


@pytest.mark.slow
def test_muon_moves_matrices_by_nearly_orthogonal_changes():
    config = settings({"layers": 1}, optimiser="muon", weight_decay=0.0, clip=0.0, warmup=0, schedule="constant")
    model = initial_model(config, keys(0).weights)
    state = start(config, model)
    after, _, _ = jax.jit(program(config, model))(
        state, keys(0).data, *inputs(config, 0.01), jnp.int32(0), jnp.int32(1)
    )
    change = after.weights.layers[0].mlp[1].weight - state.weights.layers[0].mlp[1].weight
    singular = np.linalg.svd(np.asarray(change), compute_uv=False)
    # Five Newton-Schulz steps bring the singular values near one; the size is that of AdamW: 0.2·√8 times the rate.
    assert singular.max() < 1.3 * 0.01 * 0.2 * np.sqrt(8)
    assert singular[0] / singular[3] < 3  # half of them at least are of one size
    gain = after.weights.layers[0].mlp[0].norm.gain - state.weights.layers[0].mlp[0].norm.gain
    # Adam with Nesterov's momentum: the first change is the rate times 1 + 0.9·0.1/(1 - 0.9²), for any gradient.
    np.testing.assert_allclose(np.abs(gain), 0.01 * (1 + 0.09 / 0.19), rtol=1e-3)


@pytest.mark.slow
def test_muon_is_that_of_optax():
    config = settings({"mlp": "gpt2", "tied": False}, optimiser="muon", weight_decay=0.1, clip=0.0)
    weights = eqx.filter(initial_model(config, keys(0).weights), eqx.is_inexact_array)
    gradient, _ = moved(weights)

    def numbers_of(path, _):
        hidden = path[-1].name in ("query", "key", "value", "projection", "weight")
        return optax.contrib.MuonDimensionNumbers(1, 0) if hidden else None

    theirs = optax.contrib.muon(
        1.0,
        weight_decay=0.1,
        adam_b1=0.9,
        adam_b2=0.95,
        adam_weight_decay=0.1,
        muon_weight_dimension_numbers=lambda tree: jax.tree_util.tree_map_with_path(numbers_of, tree),
        consistent_rms=0.2,
    )
    ours = optimiser(config.optimisation, numbers(config))
    results = []
    for each in (theirs, ours):
        state = each.init(weights)
        for _ in range(2):
            changes, state = each.update(gradient, state, weights)
        results.append(changes)
    for one, other in zip(*map(jax.tree.leaves, results), strict=True):
        np.testing.assert_allclose(one, other, atol=1e-12)


@pytest.mark.parametrize("schedule", ["cosine", "linear", "constant"])
def test_the_rate_rises_and_falls_as_it_says(schedule):
    fraction = rate(schedule, numbers(Config(optimisation=Optimisation(steps=110, warmup=9, final_rate=0.1))))
    values = [float(fraction(jnp.int32(step))) for step in range(110)]
    np.testing.assert_allclose(values[:9], (1 + np.arange(9)) / 10, rtol=1e-6)
    done = np.arange(101) / 100
    left = {"cosine": (1 + np.cos(np.pi * done)) / 2, "linear": 1 - done, "constant": np.ones(101)}[schedule]
    np.testing.assert_allclose(values[9:], 0.1 + 0.9 * left, rtol=1e-5)
