"""The step of training: its fast form against the definition, its number types, its targets and its data."""

from __future__ import annotations

import dataclasses

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import optax.contrib
import pytest
from jax.extend.core import jaxprs_in_params

from anyorder.errors import InputError
from anyorder.training import dropout, fast
from anyorder.training.config import PRESETS, Config, Data, Initial, Optimisation
from anyorder.training.initial import initial_model
from anyorder.training.optimiser import numbers, optimiser, rate
from anyorder.training.step import batch_loss, keys, log_probabilities, program, start
from anyorder.transformer import Head, Layer, Transformer

ARCHITECTURES = {
    "paper": {},
    "beginning token": {"beginning": True},
    "one layer": {"layers": 1, "mlp": "gpt2", "tied": False},
    "one layer, nothing after it": {"layers": 1, "mlp": "none"},
    "GPT-2": {"beginning": True, "pre_norm": True, "mlp": "gpt2", "last_mlp": True, "tied": False},
    "pre-norm with the paper's MLP": {"pre_norm": True, "tied": False},
    "Q/K norm": {"qk_norm": True, "heads": (2, 1), "key_positions": "all"},
    "three layers, many heads": {"layers": 3, "heads": (1, 4, 2), "key_positions": "all", "mlp": "none"},
    "no positions": {"key_positions": "none", "beginning": True},
    "published": {"mlp": "published", "positions_through_key": True, "heads": (2, 1), "key_positions": "all"},
}
VALUE_POSITIONS = {"value_positions": "all", "heads": (2, 1), "beginning": True}
SYMBOLS, LENGTH = 3, 9


def inputs(config, rate):
    """The inputs of a compiled step besides the state and the key."""
    return numbers(config, rate), config.source.as_inputs(config.optimisation.dtype)


def settings(architecture, *, dtype="float64", length=LENGTH, **optimisation):
    return Config(
        data=Data(length=length, alphabet_size=SYMBOLS),
        architecture=dataclasses.replace(PRESETS["paper"].architecture, **{"dimension": 8, **architecture}),
        initial=Initial(zero_output=False),
        optimisation=dataclasses.replace(PRESETS["paper"].optimisation, dtype=dtype, **{"batch": 4, **optimisation}),
    )


def moved(model, size=0.1):
    """The model with every weight moved, so that no gain is one and no bias zero."""
    weights, rest = eqx.partition(model, eqx.is_inexact_array)
    leaves, structure = jax.tree.flatten(weights)
    rng = np.random.default_rng(0)
    leaves = [leaf + jnp.asarray(size * rng.normal(size=leaf.shape), leaf.dtype) for leaf in leaves]
    return jax.tree.unflatten(structure, leaves), rest


@pytest.mark.parametrize("name", ARCHITECTURES)
def test_the_fast_form_has_the_values_and_gradients_of_the_definition(name):
    length = LENGTH + 4 if name in ("Q/K norm", "beginning token") else LENGTH  # longer than the tables
    model = initial_model(settings(ARCHITECTURES[name]), jax.random.key(0))
    assert fast.covers(model)
    weights, rest = moved(model)
    rng = np.random.default_rng(1)
    tokens = jnp.asarray(rng.integers(0, SYMBOLS, (4, length)), jnp.int32)
    cotangent = jnp.asarray(rng.normal(size=(4, length, SYMBOLS)))

    def weighted(weights, form):
        values = form(eqx.combine(weights, rest))
        return (values * cotangent).sum(), values

    forms = (
        lambda model: fast.log_probabilities(model, tokens),
        lambda model: jax.vmap(model.log_probabilities)(tokens),
    )

    def both(weights):
        return [jax.value_and_grad(weighted, has_aux=True)(weights, form) for form in forms]

    quickly = {"xla_backend_optimization_level": 0, "xla_llvm_disable_expensive_passes": True}
    ((_, values), gradient), ((_, defined), slow_gradient) = jax.jit(both, compiler_options=quickly)(weights)
    np.testing.assert_allclose(values, defined, atol=1e-12)
    for quick, slow in zip(jax.tree.leaves(gradient), jax.tree.leaves(slow_gradient), strict=True):
        np.testing.assert_allclose(quick, slow, atol=1e-10)
    assert all(float(jnp.abs(leaf).max()) > 0 for leaf in jax.tree.leaves(slow_gradient))


def test_in_float32_the_fast_form_agrees_to_1e_5():
    model = initial_model(settings(ARCHITECTURES["GPT-2"], dtype="float32"), jax.random.key(0))
    tokens = jnp.asarray(np.random.default_rng(1).integers(0, SYMBOLS, (4, LENGTH)), jnp.int32)
    np.testing.assert_allclose(
        fast.log_probabilities(model, tokens), jax.vmap(model.log_probabilities)(tokens), atol=1e-5
    )


def test_value_positions_fall_back_to_the_definition():
    model = initial_model(settings(VALUE_POSITIONS), jax.random.key(0))
    assert not fast.covers(model)
    tokens = jnp.asarray(np.random.default_rng(1).integers(0, SYMBOLS, (2, LENGTH)), jnp.int32)
    np.testing.assert_allclose(log_probabilities(model, tokens), jax.vmap(model.log_probabilities)(tokens), atol=1e-12)


def test_dropout_keeps_the_mean_of_what_it_drops():
    config = settings({"layers": 1, "mlp": "none", "key_positions": "none"}, dropout=0.5)
    model = initial_model(config, jax.random.key(0))
    # With no attention to speak of the logits are linear in the dropped embeddings.
    model = eqx.tree_at(lambda model: model.layers[0].heads[0].value, model, jnp.zeros((8, 8)))
    tokens = jnp.asarray([0, 1, 2], jnp.int32)

    def logits(key):
        logarithms = dropout.log_probabilities(model, tokens, amount=0.5, key=key)
        return logarithms - logarithms.mean(axis=-1, keepdims=True)

    dropped = jax.vmap(logits)(jax.random.split(jax.random.key(1), 20_000))
    whole = model.logits(tokens)
    assert float(dropped.std(axis=0).min()) > 0.05
    np.testing.assert_allclose(dropped.mean(axis=0), whole - whole.mean(axis=-1, keepdims=True), atol=0.05)


def test_a_step_with_dropout_takes_another_loss_and_none_takes_the_plain_one():
    model = initial_model(settings({}), jax.random.key(0))
    source = settings({}).source
    losses = [
        float(batch_loss(model, settings({}, dropout=p).optimisation, source, jax.random.key(3)))
        for p in (0.0, 1e-12, 0.3)
    ]
    assert losses[0] == pytest.approx(losses[1], abs=1e-9)
    assert abs(losses[2] - losses[0]) > 1e-6


def test_a_batch_may_share_kernels():
    drawn = Data(length=8).source_of(9, per_kernel=3).sample(0, 6)
    kernels = np.asarray(drawn.kernels)
    assert (kernels[0] == kernels[2]).all()
    assert (kernels[3] == kernels[5]).all()
    assert not (kernels[2] == kernels[3]).any()
    assert len({tuple(row) for row in np.asarray(drawn.tokens).tolist()}) > 2


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
    """Sampled and exact targets against the definition, by hand."""
    for targets in ("sampled", "exact"):
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
                terms.append(-predicted[row[token]] if targets == "sampled" else -(true[token] * predicted).sum())
        assert len(terms) == 4 * (LENGTH + 1 - config.data.order)
        np.testing.assert_allclose(
            batch_loss(model, config.optimisation, config.source, key), np.mean(terms), rtol=1e-12
        )


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
    # Adam with Nesterov's momentum: the first change is the rate times 1 + 0.9·0.1/(1 - 0.9²), whatever the gradient.
    np.testing.assert_allclose(np.abs(gain), 0.01 * (1 + 0.09 / 0.19), rtol=1e-3)


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


def test_training_data_and_evaluation_data_have_different_keys():
    from anyorder.training.evaluation import held_out

    config = settings({})
    drawn = config.data.source.sample(jax.random.fold_in(keys(0).data, 0), 64)
    assert not np.array_equal(drawn.tokens, held_out(config.data, 64).tokens)


def test_a_given_model_is_perturbed_and_loses_its_promise():
    model = initial_model(settings({}, dtype="float32"), jax.random.key(0))
    config = dataclasses.replace(settings({}), initial=Initial(from_model="x", perturbation=0.5))
    begun = initial_model(config, jax.random.key(1), model)
    assert begun.dtype == jnp.float64
    assert begun.certificate is None
    noise = np.concatenate(
        [
            np.ravel(np.asarray(one) - np.asarray(other))
            for one, other in zip(
                jax.tree.leaves(eqx.filter(begun, eqx.is_inexact_array)),
                jax.tree.leaves(eqx.filter(model, eqx.is_inexact_array)),
                strict=True,
            )
        ]
    )
    assert abs(noise.std() - 0.5) < 4 * 0.5 / np.sqrt(2 * noise.size)
    other = dataclasses.replace(config, data=Data(alphabet_size=2))
    with pytest.raises(InputError, match="the model has 3 symbols, the chains have 2; pass `alphabet_size=3`"):
        initial_model(other, jax.random.key(1), model)


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
