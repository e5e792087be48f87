"""The forward pass in JavaScript, in a real Chromium, against JAX: hundreds of sequences, to the last bits."""

from __future__ import annotations

import dataclasses
import json

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from anyorder.constructions import plan
from anyorder.models import load
from anyorder.web.app import STATIC
from anyorder.web.bundle import bundle
from anyorder.web.export import plain_positions
from anyorder.web.library import SHIPPED
from anyorder.web.packing import pack, pack_plan

UNITS = {"float32": 2.0**-24, "float64": 2.0**-53}
COUNT, LENGTH, SYMBOLS = 32, 32, 3


@pytest.fixture(scope="module")
def javascript(browser):
    """A page with the modules of the exported explorer and nothing else."""
    page = browser.new_page()
    page.evaluate("() => { globalThis.anyorderData = {}; }")
    modules = bundle(STATIC.parent, "local/backend.js")
    page.add_script_tag(content=modules.replace("const modules = {};", "const modules = (globalThis.modules = {});"))
    yield page
    page.close()


RUN = """([packed, kappa, dtype, batch]) => {
  const { run, ROUND } = modules["local/forward.js"], { unpacked } = modules["local/weights.js"];
  const model = unpacked(JSON.parse(packed), kappa, ROUND[dtype]);
  return batch.map((tokens) => run(model, tokens, ROUND[dtype]).probabilities.map((row) => [...row]));
}"""

ARRAYS = """([packed, kappa, dtype]) => {
  const { ROUND } = modules["local/forward.js"], { Sparse, unpacked } = modules["local/weights.js"], found = [];
  const collect = (value) => {
    if (value instanceof Sparse) found.push(Array.from({ length: value.rows }, (_, row) => [...value.vector(row)]));
    else if (value && typeof value === "object") Object.values(value).forEach(collect);
  };
  collect(unpacked(JSON.parse(packed), kappa, ROUND[dtype]));
  return found;
}"""


NAMES = [
    "two-layer",
    "two-layer-qk",
    "k-head",
    "dyadic",
    "attention-only",
    "bayes",
    "one-layer",
    "convolution",
    "recurrent",
    "recurrent-bayes",
]


def planned(name, dtype, order=2, length=64):
    made = plan(name, order=order, alphabet_size=SYMBOLS, length=length, dtype=dtype)
    return made, json.dumps(pack_plan(made)[0])


def batch(symbols):
    return np.random.default_rng(symbols).integers(0, symbols, (COUNT, LENGTH))


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("name", NAMES)
def test_constructions_give_what_jax_gives(javascript, name, dtype):
    made, packed = planned(name, dtype)
    tokens = batch(SYMBOLS)
    model = made.build(force=True)
    expected = np.asarray(jax.vmap(model)(jnp.asarray(tokens, jnp.int32)), np.float64)
    given = np.array(javascript.evaluate(RUN, [packed, made.kappa, dtype, tokens.tolist()]))
    # A score of size kappa is rounded to kappa units, and a sum of a few products once more each.
    assert np.abs(given - expected).max() <= 8 * made.kappa * UNITS[dtype]
    exact = name in ("k-head", "dyadic", "two-layer", "one-layer", "convolution", "recurrent", "recurrent-bayes")
    assert not exact or np.abs(given - expected).max() <= 4 * UNITS[dtype]


@pytest.mark.parametrize("path", [SHIPPED / "trained-order-2.safetensors", "zoo:published-order-2", "zoo:one-layer"])
def test_trained_models_give_what_jax_gives(javascript, path):
    model = load(path)
    tokens = batch(2)[:8]  # dense weights: each sequence takes as long as ten of a construction
    expected = np.asarray(jax.vmap(model)(jnp.asarray(tokens, jnp.int32)), np.float64)
    given = np.array(
        javascript.evaluate(RUN, [json.dumps(pack(plain_positions(model))), None, "float32", tokens.tolist()])
    )
    assert np.abs(given - expected).max() < 2e-5
    np.testing.assert_allclose(given.sum(axis=2), 1, atol=1e-6)


@pytest.mark.parametrize("name", ["two-layer", "three-layer", "disentangled", "bigram", "bayes", "k-head-bayes"])
@pytest.mark.parametrize("temperature", [1.0, 2.0**5.5])
def test_unpacked_weights_are_those_of_the_model_bit_for_bit(javascript, name, temperature):
    # Matrices of `disentangled` have the length as their side, and travel as text.
    made, packed = planned(name, "float32", order=1 if name == "bigram" else 2, length=16)
    kappa = made.kappa / temperature
    model = made.at(kappa).build(force=True)
    leaves = [leaf for leaf in _arrays(model) if leaf.ndim]
    found = javascript.evaluate(ARRAYS, [packed, kappa, "float32"])
    assert len(found) == len(leaves)
    for given, leaf in zip(found, leaves, strict=True):
        np.testing.assert_array_equal(np.array(given), np.atleast_2d(np.asarray(leaf, np.float64)))


def _arrays(value):
    """In the order of fields, as the description of the model has them."""
    if hasattr(value, "ndim"):
        yield value
    elif dataclasses.is_dataclass(value):
        for field in dataclasses.fields(value):
            if field.name != "certificate":
                yield from _arrays(getattr(value, field.name))
    elif isinstance(value, tuple):
        for part in value:
            yield from _arrays(part)
