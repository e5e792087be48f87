"""`convolution`: every sequence of small lengths, every number type, and the failure of a shorter convolution."""

from __future__ import annotations

import dataclasses

import jax.numpy as jnp
import numpy as np
import pytest

from anyorder.constructions import construct
from anyorder.constructions.verify import verify
from tests.constructions.cases import TOKENS

SMALL = [(1, 2, 10), (2, 2, 10), (3, 2, 10), (4, 2, 10), (1, 3, 6), (2, 3, 6)]


@pytest.mark.parametrize(("order", "symbols", "length"), SMALL)
def test_every_sequence(order, symbols, length):
    found = verify("convolution", order=order, alphabet_size=symbols, length=length, exhaustive=True, dtype="float32")
    assert found.passed
    assert (found.layers, found.heads, found.dimension) == (1, (1,), (order + 2) * symbols)


@pytest.mark.parametrize("dtype", ["bfloat16", "float16", "float32", "float64"])
def test_every_number_type_holds_every_order(dtype):
    model = construct("convolution", order=100, alphabet_size=2, length=512, dtype=dtype)
    assert model.certificate.margin == 1
    assert model.certificate.bound < 0.05


def test_rows_before_the_first_are_zero():
    read = construct("convolution", order=3, alphabet_size=3, length=40).trace(TOKENS).stream("convolution 1")
    for n in range(40):
        for j in range(4):
            expected = np.eye(3)[TOKENS[n - j]] if n >= j else np.zeros(3)
            assert read[n, 3 * j : 3 * j + 3].tolist() == expected.tolist()


def test_a_convolution_of_k_taps_confuses_two_sequences():
    """0^k 1 0^k and 0^(k-1) 1 0^(k+1) differ in the token after 0^k, and a shorter convolution cannot see it."""
    for order in (1, 2, 3):
        model = construct("convolution", order=order, alphabet_size=2, length=2 * order + 1)
        first, second = (jnp.eye(2 * order + 1, dtype=int)[place] for place in (order, order - 1))
        assert model(first)[-1].round(9).tolist() == [0.0, 1.0]
        assert model(second)[-1].round(9).tolist() == [1.0, 0.0]
        cut = model.layers[0].convolution.at[order].set(0.0)
        shorter = dataclasses.replace(model, layers=(dataclasses.replace(model.layers[0], convolution=cut),))
        np.testing.assert_allclose(shorter(first)[-1], shorter(second)[-1], atol=1e-12)
