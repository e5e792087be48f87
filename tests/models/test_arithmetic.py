"""Sums, quotients, directions and convolutions, each correctly rounded."""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

from anyorder.io.numerics import DTYPES
from anyorder.models import UnitNorm
from anyorder.models.arithmetic import convolve
from tests.models.small import jaxpr_dtypes, random_model, tokens_of
from tests.oracles_constructions import convolved


def test_division_is_correctly_rounded():
    integers = jnp.arange(1, 2001, dtype=jnp.float32)[:, None]
    lengths = jax.jit(UnitNorm())(jnp.pad(integers, ((0, 0), (0, 7))))
    np.testing.assert_array_equal(lengths[:, 0], 1)


def test_a_zero_vector_has_no_direction_and_a_finite_gradient():
    norm = UnitNorm()
    rows = jnp.asarray([[0.0, 0.0], [3.0, 4.0]], jnp.float32)
    np.testing.assert_allclose(norm(rows), [[0, 0], [0.6, 0.8]], atol=1e-7)
    assert bool(jnp.isfinite(jax.grad(lambda rows: norm(rows).sum())(rows)).all())


@pytest.mark.parametrize(("taps", "rows"), [(1, 4), (3, 8), (6, 3)])
def test_a_convolution_is_a_sum_over_offsets(taps, rows):
    rng = np.random.default_rng(taps)
    kernel, x = rng.normal(size=(taps, 4)), rng.normal(size=(rows, 4))
    np.testing.assert_allclose(convolve(jnp.asarray(kernel), jnp.asarray(x)), convolved(kernel, x), atol=1e-12)


def test_a_convolution_in_sixteen_bits_rounds_after_every_addition():
    taps = jnp.asarray([[1.0], [1.0], [-1.0]], jnp.float16)
    x = jnp.asarray([[2048.0], [1.0], [2048.0]], jnp.float16)  # 2048 + 1 is 2048 in float16
    assert convolve(taps, x)[2].item() == 0.0


@pytest.mark.parametrize("dtype", DTYPES)
def test_no_wider_float_occurs_in_the_program(dtype):
    model = random_model(6, dtype=dtype, heads=(2, 1), key_offsets=4, value_offsets=4, pre_norm=True, beginning=True)
    program = jax.make_jaxpr(lambda tokens: model.trace(tokens).probabilities)(jnp.zeros(300, jnp.int32))
    floats = {found for found in jaxpr_dtypes(program.jaxpr) if jnp.issubdtype(found, jnp.floating)}
    assert floats == {DTYPES[dtype]}


@pytest.mark.slow
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
