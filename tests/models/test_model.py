"""The transformer against Definition 3 written as loops, with every option that training and proofs use."""

from __future__ import annotations

import dataclasses

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

from anyorder.errors import InputError
from anyorder.models import Head
from tests.models.small import random_model, tokens_of
from tests.oracles_constructions import transformer_output

CASES = {
    "one layer": {"heads": (1,), "mlp": "none"},
    "relative keys": {"key_offsets": 4},
    "table longer than the sequence": {"key_offsets": 50, "value_offsets": 60},
    "relative values, one offset": {"value_offsets": 1},
    "two heads, then one": {"heads": (2, 1), "key_offsets": 5, "value_offsets": 5},
    "three layers": {
        "heads": (1, 3, 2),
        "mlp": "gpt",
        "projected": True,
        "pre_norm": True,
        "beginning": True,
    },
    "the stack of App. B.2": {"mlp": "paper-qk", "normalise": True, "scale": 7.0, "output_map": "relu"},
    "tied head": {"tied": True, "output_bias": True, "beginning": True, "key_offsets": 9},
    "absolute positions": {"places": 30, "beginning": True},
    "a convolution before attention": {"taps": 3, "key_offsets": 4, "pre_norm": True, "beginning": True},
    "rotary positions": {"rotary": 100.0, "normalise": True, "heads": (2, 1), "beginning": True},
    "mamba": {"state": 5, "mamba_taps": 3, "heads": (2, 1), "mlp": "gpt", "pre_norm": True},
    "linear attention": {"state": 2, "mamba_taps": 1, "decay": "one", "heads": (3,), "mlp": "none"},
    "tables": {"features": 5, "heads": (2, 1), "mlp": "gpt"},
    "tables that are not empty at first": {"features": 3, "initial": True, "taps": 2, "output_map": "relu"},
    "identity output": {"output_map": "identity", "mlp": "none", "value_offsets": 3},
}


@pytest.mark.parametrize("case", CASES, ids=str)
def test_definition_3(case):
    model = random_model(1, **CASES[case])
    tokens = tokens_of(23)
    expected, maps, _ = transformer_output(model, tokens)
    trace = model.trace(tokens)
    np.testing.assert_allclose(trace.probabilities, expected, atol=1e-12)
    np.testing.assert_array_equal(model(tokens), trace.probabilities)
    for computed, by_hand in zip(trace.attention, maps, strict=True):
        np.testing.assert_allclose(computed, by_hand, atol=1e-12)


def test_log_probabilities_are_stable():
    model = random_model(3)
    model = eqx.tree_at(lambda m: m.output, model, model.output * 1e4)
    logs = model.log_probabilities(tokens_of(12))
    assert bool(jnp.isfinite(logs).all())
    assert float(model(tokens_of(12)).min()) == 0.0
    np.testing.assert_allclose(np.exp(logs).sum(axis=1), 1, atol=1e-12)


def test_trace_names_points_and_blocks():
    model = dataclasses.replace(random_model(4, mlp="gpt", heads=(1, 2)), blocks=(("token", 3), ("rest", 5)))
    trace = model.trace(tokens_of(9))
    assert trace.points == ("embedding", "attention 1", "mlp 1.2", "attention 2", "mlp 2.2")
    np.testing.assert_array_equal(trace.block("rest", "mlp 1.2"), trace.stream("mlp 1.2")[:, 3:])
    assert [layer.shape for layer in trace.attention] == [(1, 9, 9), (2, 9, 9)]
    with pytest.raises(InputError, match=r"no block 'window'.*token, rest"):
        trace.block("window", "embedding")
    with pytest.raises(InputError, match="no point 'mlp 1'"):
        trace.stream("mlp 1")


@pytest.mark.slow
@pytest.mark.parametrize("mlp", ["paper", "gpt"])
def test_gradients_match_finite_differences(mlp):
    model = random_model(5, mlp=mlp, key_offsets=3, value_offsets=2, beginning=True, pre_norm=mlp == "gpt")
    tokens = jnp.asarray(tokens_of(11))
    parameters, rest = eqx.partition(model, eqx.is_inexact_array)

    def loss(parameters):
        return -eqx.combine(parameters, rest).log_probabilities(tokens)[:, 0].mean()

    gradient = jax.grad(loss)(parameters)
    leaves, structure = jax.tree.flatten(parameters)
    rng = np.random.default_rng(0)
    direction = jax.tree.unflatten(structure, [jnp.asarray(rng.normal(size=leaf.shape)) for leaf in leaves])
    along = sum(
        float(jnp.vdot(g, v)) for g, v in zip(jax.tree.leaves(gradient), jax.tree.leaves(direction), strict=True)
    )
    step = 1e-6
    moved = [jax.tree.map(lambda p, v, sign=sign: p + sign * step * v, parameters, direction) for sign in (1, -1)]
    assert along == pytest.approx(float(loss(moved[0]) - loss(moved[1])) / (2 * step), rel=1e-6)


def test_batches_are_vmap():
    model = random_model(8, beginning=True)
    batch = np.stack([tokens_of(10, seed) for seed in range(3)])
    together = jax.vmap(model)(jnp.asarray(batch))
    for row, tokens in zip(together, batch, strict=True):
        np.testing.assert_allclose(row, model(tokens), atol=1e-14)


def test_tokens_outside_the_alphabet_are_refused():
    with pytest.raises(InputError, match="token 3 at position 1, must be 0 to 2"):
        random_model(9)([0, 3])
    with pytest.raises(InputError, match="empty"):
        random_model(9)(np.zeros(0, np.int32))


def test_mapped_tokens_outside_the_alphabet_make_rows_nan_from_there_on():
    model = random_model(8, beginning=True)
    batch = np.stack([tokens_of(6, 0)] * 2)
    batch[1, 3] = model.alphabet_size
    mapped = jax.vmap(model)(jnp.asarray(batch, jnp.int32))
    assert np.isfinite(mapped[0]).all()
    np.testing.assert_allclose(mapped[1, :3], mapped[0, :3], rtol=1e-6)
    assert np.isnan(mapped[1, 3:]).all()


def test_absolute_positions_end_somewhere():
    with pytest.raises(InputError, match="the sequence has 9 tokens, the model has only 8 positions"):
        random_model(9, places=8)(tokens_of(9))


def test_shapes_that_do_not_fit_are_refused():
    model = random_model(10)
    with pytest.raises(InputError, match="named blocks have 3 coordinates, the stream has 8"):
        dataclasses.replace(model, blocks=(("token", 3),))
    with pytest.raises(InputError, match="give it a projection"):
        Head(jnp.zeros((4, 8)), jnp.zeros((4, 8)), jnp.zeros((4, 8)))


def test_attention_is_that_of_the_trace():
    model = random_model(11, heads=(2, 1))
    tokens = tokens_of(6)
    for given, traced in zip(model.attention(tokens.tolist()), model.trace(tokens).attention, strict=True):
        np.testing.assert_array_equal(given, traced)


def test_an_empty_list_is_said_to_be_empty():
    with pytest.raises(InputError, match="the sequence is empty"):
        random_model(9)([])


@pytest.mark.parametrize("hook", [False, True])
def test_attention_that_exceeds_the_memory_is_refused(hook):
    model, tokens = random_model(2, heads=(1,), mlp="none"), np.zeros(3_000_000, np.int32)
    with pytest.raises(InputError, match=r"the attention of 3000000 tokens would need about .* pass fewer tokens"):
        model(tokens, hook=lambda place, value: value) if hook else model.trace(tokens)
