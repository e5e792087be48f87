"""The step of training: its number types, its targets, and dropout."""

from __future__ import annotations

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax.extend.core import jaxprs_in_params

from anyorder.models import Head, Layer, Transformer
from anyorder.training.initial import initial_model
from anyorder.training.step import batch_loss, dropout, keys, program, start
from tests import oracles
from tests.training.small import LENGTH, SYMBOLS, VALUE_POSITIONS, inputs, settings


def test_all_predictions_count_if_they_are_told_to():
    config = settings({}, predictions="all")
    model = initial_model(config, jax.random.key(0))
    tokens = config.source.sample(3, 4).tokens
    logarithms = np.asarray(jax.vmap(model.log_probabilities)(tokens[:, :-1]))
    picked = [-logarithms[row, n, tokens[row, n + 1]] for row in range(4) for n in range(LENGTH)]
    assert float(batch_loss(model, config.optimisation, config.source, jax.random.key(3))) == pytest.approx(
        np.mean(picked), rel=1e-9
    )


def arrays_in(jaxpr):
    """The abstract values of every equation, inner programs included."""
    for equation in jaxpr.eqns:
        yield from (variable.aval for variable in equation.outvars)
        for inner in jaxprs_in_params(equation.params):
            yield from arrays_in(inner)


@pytest.mark.parametrize("optimiser", ["adamw", "muon"])
@pytest.mark.parametrize("architecture", [{}, VALUE_POSITIONS], ids=["fast", "plain"])
def test_no_array_of_a_float32_step_is_float64(optimiser, architecture):
    config = settings(architecture, dtype="float32", optimiser=optimiser)
    model = initial_model(config, keys(0).weights)
    arguments = (start(config, model), keys(0).data, *inputs(config, 1e-3), jnp.int32(0), jnp.int32(1))
    traced = jax.make_jaxpr(program(config, model))(*arguments)
    wide = [str(value) for value in arrays_in(traced.jaxpr) if value.dtype == jnp.float64 and value.shape != ()]
    assert wide == []
    after, losses, _ = jax.eval_shape(program(config, model), *arguments)
    assert {leaf.dtype for leaf in jax.tree.leaves((after.weights, losses))} == {jnp.dtype(jnp.float32)}


def test_the_loss_counts_the_tokens_after_a_full_window():
    """Sampled, exact and Bayes targets against the definition, by hand."""
    for targets in ("sampled", "exact", "bayes"):
        config = settings({}, targets=targets)
        model = initial_model(config, jax.random.key(3))
        key = jax.random.key(5)
        drawn = config.data.source.sample(key, 4)
        tokens, truth = np.asarray(drawn.tokens), np.asarray(drawn.truth)
        assert tokens.shape == (4, LENGTH + 1)
        terms = []
        for row, true in zip(tokens, truth, strict=True):
            logarithms = np.log(np.asarray(model(row[:-1])))
            for token in range(config.data.order, LENGTH + 1):
                predicted = logarithms[token - 1]
                counted = oracles.add_beta(row.tolist(), token - 1, config.data.order, config.data.alphabet_size)
                target = {
                    "sampled": np.eye(SYMBOLS)[row[token]],
                    "exact": true[token],
                    "bayes": np.array(counted, float),
                }
                terms.append(-(target[targets] * predicted).sum())
        assert len(terms) == 4 * (LENGTH + 1 - config.data.order)
        np.testing.assert_allclose(
            batch_loss(model, config.optimisation, config.source, key), np.mean(terms), rtol=1e-12
        )


def test_bayes_targets_before_a_full_window_are_the_uniform_start():
    """With `predictions=all` rows without a full window have no counts: the truth there is the uniform start."""
    config = settings({}, targets="bayes", predictions="all")
    model = initial_model(config, jax.random.key(3))
    drawn = config.source.sample(jax.random.key(5), 4)
    logarithms = np.log(np.asarray(jax.vmap(model)(drawn.tokens[:, :-1])))
    terms = []
    for row, predicted in zip(np.asarray(drawn.tokens).tolist(), logarithms, strict=True):
        for token in range(1, LENGTH + 1):
            known = token >= config.data.order
            target = oracles.add_beta(row, token - 1, config.data.order, SYMBOLS) if known else [1 / 3] * 3
            terms.append(-(np.array(target, float) * predicted[token - 1]).sum())
    found = batch_loss(model, config.optimisation, config.source, jax.random.key(5))
    assert float(found) == pytest.approx(np.mean(terms), rel=1e-9)


def test_a_step_is_a_function_of_its_number():
    """Two calls of three steps are one call of six, and every step has fresh sequences."""
    config = settings({}, dtype="float32", warmup=2, learning_rate=(1e-2,))
    model = initial_model(config, keys(0).weights)
    advance = jax.jit(program(config, model))
    state, rest = start(config, model), (keys(0).data, *inputs(config, 1e-2))
    whole, losses, sound = advance(state, *rest, jnp.int32(0), jnp.int32(6))
    half, first, _ = advance(state, *rest, jnp.int32(0), jnp.int32(3))
    parts, second, _ = advance(half, *rest, jnp.int32(3), jnp.int32(3))
    assert bool(sound)
    np.testing.assert_array_equal(losses[:6], np.concatenate([first[:3], second[:3]]))
    assert len(set(np.asarray(losses[:6]).tolist())) == 6
    for one, other in zip(jax.tree.leaves(whole), jax.tree.leaves(parts), strict=True):
        np.testing.assert_array_equal(one, other)


def test_training_data_and_evaluation_data_have_different_keys():
    from anyorder.training.reference import held_out

    config = settings({})
    drawn = config.data.source.sample(jax.random.fold_in(keys(0).data, 0), 64)
    assert not np.array_equal(drawn.tokens, held_out(config.data, 64).tokens)


def test_a_model_without_softmax_has_a_finite_loss_and_gradient():
    """Uniform attention over one-hot tokens: probabilities that are exactly zero at the start."""
    zero = jnp.zeros((3, 3), jnp.float64)
    head = Head(query=zero, key=zero, value=jnp.eye(3, dtype=jnp.float64))
    model = Transformer(
        jnp.zeros((3, 3), jnp.float64) + jnp.eye(3, dtype=jnp.float64),
        (Layer((head,)),),
        jnp.eye(3, dtype=jnp.float64),
        output_map="relu",
    )
    config = settings({})
    weights, rest = eqx.partition(model, eqx.is_inexact_array)
    loss, gradient = jax.value_and_grad(
        lambda weights: batch_loss(eqx.combine(weights, rest), config.optimisation, config.source, jax.random.key(0))
    )(weights)
    assert np.isfinite(loss)
    assert all(np.isfinite(leaf).all() for leaf in jax.tree.leaves(gradient))


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
