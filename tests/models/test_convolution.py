"""The convolution against a sum over offsets."""

from __future__ import annotations

import jax.numpy as jnp
import numpy as np
import pytest

from anyorder.models.convolution import convolve
from tests.oracles_constructions import convolved


@pytest.mark.parametrize(("taps", "rows"), [(1, 4), (3, 8), (6, 3)])
def test_it_is_a_sum_over_offsets(taps, rows):
    rng = np.random.default_rng(taps)
    kernel, x = rng.normal(size=(taps, 4)), rng.normal(size=(rows, 4))
    np.testing.assert_allclose(convolve(jnp.asarray(kernel), jnp.asarray(x)), convolved(kernel, x), atol=1e-12)


def test_sixteen_bits_are_rounded_after_every_addition():
    taps = jnp.asarray([[1.0], [1.0], [-1.0]], jnp.float16)
    x = jnp.asarray([[2048.0], [1.0], [2048.0]], jnp.float16)  # 2048 + 1 is 2048 in float16
    assert convolve(taps, x)[2].item() == 0.0
