"""The transformer against Definition 3 written as loops, with every option that training and proofs use."""

from __future__ import annotations

import dataclasses
import warnings

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax.extend.core import jaxprs_in_params

from anyorder.constructions import construct
from anyorder.errors import InputError
from anyorder.numerics import DTYPES
from anyorder.transformer import Head, Layer, LayerNorm, MLPLayer, Transformer, UnitNorm
from anyorder.transformer import attention as attention_module
from tests.oracles_constructions import transformer_output

SYMBOLS = 3


def random_model(seed, *, dtype="float64", d=8, heads=(1, 1), mlp="paper", **options):
    """A model with random weights; `options` switch the parts on that a case is about."""
    rng = np.random.default_rng(seed)

    def draw(*shape):
        return jnp.asarray(rng.normal(size=shape) / np.sqrt(shape[-1]), dtype)

    def norm(width):
        return LayerNorm(1 + draw(width), draw(width))

    def head():
        projected = options.get("projected", False)
        width = d // 2 if projected else d
        return Head(
            query=draw(width, d),
            key=draw(width, d),
            value=draw(width, d),
            projection=draw(d, width) if projected else None,
            key_positions=draw(options["key_offsets"], width) if "key_offsets" in options else None,
            value_positions=draw(options["value_offsets"], width) if "value_offsets" in options else None,
            scale=options.get("scale", 1.0),
            normalise=options.get("normalise", False),
        )

    stacks = {
        "none": lambda: (),
        "paper": lambda: (
            MLPLayer(draw(d, d), draw(d), "relu", UnitNorm(), 0),
            MLPLayer(draw(d, d), draw(d), "relu", UnitNorm(), 0),
            MLPLayer(draw(d, d), None, "relu", UnitNorm(), 2),
        ),
        "paper-qk": lambda: (
            MLPLayer(draw(d, d), draw(d), "relu", UnitNorm(), 0),
            MLPLayer(draw(d, d), draw(d), "none", None, None),
        ),
        "gpt": lambda: (
            MLPLayer(draw(4 * d, d), draw(4 * d), "gelu"),
            MLPLayer(draw(d, 4 * d), draw(d), "none", skip=0),
        ),
    }
    pre_norm = options.get("pre_norm", False)
    layers = tuple(
        Layer(
            tuple(head() for _ in range(count)),
            stacks[mlp](),
            attention_norm=norm(d) if pre_norm else None,
            mlp_norm=norm(d) if pre_norm else None,
        )
        for count in heads
    )
    return Transformer(
        embedding=draw(SYMBOLS, d),
        layers=layers,
        output=None if options.get("tied") else draw(SYMBOLS, d),
        output_bias=draw(SYMBOLS) if options.get("output_bias") else None,
        beginning=draw(d) if options.get("beginning") else None,
        positions=draw(options["places"], d) if "places" in options else None,
        final_norm=norm(d) if pre_norm else None,
        output_map=options.get("output_map", "softmax"),
    )


def tokens_of(length, seed=0):
    return np.random.default_rng(seed).integers(0, SYMBOLS, size=length)


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


def test_heads_of_one_shape_may_have_different_scales():
    model = random_model(1, heads=(2,), mlp="none")
    heads = tuple(
        dataclasses.replace(head, scale=scale) for head, scale in zip(model.layers[0].heads, (0.5, 3.0), strict=True)
    )
    model = dataclasses.replace(model, layers=(Layer(heads),))
    np.testing.assert_allclose(model(tokens_of(20)), transformer_output(model, tokens_of(20))[0], atol=1e-12)


def test_blocks_of_queries_change_nothing(monkeypatch):
    length = 300
    model = random_model(2, heads=(2,), mlp="none", key_offsets=6, value_offsets=140, beginning=True)
    tokens = tokens_of(length)
    in_blocks = model.trace(tokens)
    monkeypatch.setattr(attention_module, "SINGLE_BLOCK", 10_000)
    with jax.disable_jit():  # the compiled program would be taken from the cache
        at_once = model.trace(tokens)
    np.testing.assert_allclose(in_blocks.probabilities, at_once.probabilities, atol=1e-13)
    np.testing.assert_allclose(in_blocks.attention[0], at_once.attention[0], atol=1e-13)
    assert in_blocks.attention[0].shape == (2, length + 1, length + 1)


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


def test_division_is_correctly_rounded():
    integers = jnp.arange(1, 2001, dtype=jnp.float32)[:, None]
    lengths = jax.jit(UnitNorm())(jnp.pad(integers, ((0, 0), (0, 7))))
    np.testing.assert_array_equal(lengths[:, 0], 1)


def test_a_zero_vector_has_no_direction_and_a_finite_gradient():
    norm = UnitNorm()
    rows = jnp.asarray([[0.0, 0.0], [3.0, 4.0]], jnp.float32)
    np.testing.assert_allclose(norm(rows), [[0, 0], [0.6, 0.8]], atol=1e-7)
    assert bool(jnp.isfinite(jax.grad(lambda rows: norm(rows).sum())(rows)).all())


def jaxpr_dtypes(jaxpr):
    found = set()
    for equation in jaxpr.eqns:
        found |= {variable.aval.dtype for variable in equation.outvars if hasattr(variable.aval, "dtype")}
        for inner in jaxprs_in_params(equation.params):
            found |= jaxpr_dtypes(inner)
    return found


@pytest.mark.parametrize("dtype", DTYPES)
def test_no_wider_float_occurs_in_the_program(dtype):
    model = random_model(6, dtype=dtype, heads=(2, 1), key_offsets=4, value_offsets=4, pre_norm=True, beginning=True)
    program = jax.make_jaxpr(lambda tokens: model.trace(tokens).probabilities)(jnp.zeros(300, jnp.int32))
    floats = {found for found in jaxpr_dtypes(program.jaxpr) if jnp.issubdtype(found, jnp.floating)}
    assert floats == {DTYPES[dtype]}


@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
def test_sixteen_bits_are_not_computed_in_thirty_two(dtype):
    model = random_model(7, dtype=dtype, heads=(1,), key_offsets=4, value_offsets=4, normalise=True)
    tokens = tokens_of(24)
    with jax.disable_jit():  # one operation at a time: nothing for the compiler to keep in wider registers
        honest = np.asarray(model.logits(tokens), np.float64)
    np.testing.assert_array_equal(np.asarray(model.logits(tokens), np.float64), honest)
    wide = jax.tree.map(lambda leaf: leaf.astype(jnp.float32) if eqx.is_array(leaf) else leaf, model)
    computed_wide = np.asarray(wide.logits(tokens).astype(dtype), np.float64)
    assert np.mean(computed_wide != honest) > 0.3


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


def test_absolute_positions_end_somewhere():
    with pytest.raises(InputError, match="the sequence has 9 tokens, this model has 8 positions"):
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


def test_a_model_beyond_its_certified_length_warns_once():
    model = construct("bigram", order=1, alphabet_size=2, length=7)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        model([0, 1] * 3)
        model([0, 1] * 4)
        model([0, 1] * 4)
    assert [str(one.message) for one in caught] == [
        "the certificate of this bigram model speaks of at most 7 tokens; beyond that nothing is promised"
    ]
    assert caught[0].filename == __file__


@pytest.mark.parametrize("name", ["two-layer", "dyadic", "attention-only"])
def test_the_block_of_the_window_is_its_code_with_and_without_anchor(name):
    order, tokens = 2, [0, 1, 1, 0, 1]
    trace = construct(name, order=order, alphabet_size=2, length=5).trace(tokens)
    weights = {"two-layer": (1 / 4, 3 / 4), "dyadic": (1, 2), "attention-only": (3, 1)}[name]  # offsets 1 and 2
    for n in range(order, 5):
        expected = [sum(w for i, w in enumerate(weights, 1) if tokens[n - i] == s) for s in (0, 1)]
        np.testing.assert_allclose(trace.block("window", "attention 1")[n], expected, atol=1e-12)


def test_a_certificate_is_a_table_in_a_notebook():
    shown = construct("k-head-bayes", order=2, alphabet_size=2, length=9).certificate._repr_html_()
    assert "<th>bits needed</th>" in shown
    assert "equal keys get bit-equal scores" in shown
    assert "beta: 1" in shown
