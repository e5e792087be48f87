"""The fast form of the transformer against its definition, in value and gradient."""

from __future__ import annotations

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

from anyorder.training import fast
from anyorder.training.initial import initial_model
from anyorder.training.step import log_probabilities
from tests.training.small import LENGTH, SYMBOLS, VALUE_POSITIONS, moved, settings

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
    "Mamba": {"mixer": ("mamba",), "layers": 1, "heads": (2,), "mlp": "none", "taps": 3, "key_positions": "none"},
    "Mamba of decay one, then attention": {
        "mixer": ("mamba", "attention"),
        "decay": "one",
        "heads": (2, 1),
        "beginning": True,
        "pre_norm": True,
        "key_positions": "none",
    },
    "attention, then Mamba, then nothing": {"mixer": ("attention", "mamba"), "mlp": "none", "heads": (1, 2)},
    "published": {"mlp": "published", "positions_through_key": True, "heads": (2, 1), "key_positions": "all"},
}

QUICK = {"paper", "GPT-2", "published", "Mamba"}


@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=[pytest.mark.slow] * (name not in QUICK)) for name in ARCHITECTURES]
)
def test_the_fast_form_has_the_values_and_gradients_of_the_definition(name, monkeypatch):
    if name in ("Q/K norm", "beginning token", "three layers, many heads"):
        monkeypatch.setattr(fast, "BLOCK", 4)  # queries attend in blocks, of which the last is no multiple
        assert len(fast.blocks(LENGTH)) == 2
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
