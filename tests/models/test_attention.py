"""Heads of a layer, in blocks of queries and with different scales."""

import dataclasses

import jax
import numpy as np
import pytest

from anyorder.models import Layer
from anyorder.models import attention as attention_module
from tests.models.small import random_model, tokens_of
from tests.oracles_constructions import transformer_output


def test_heads_of_one_shape_may_have_different_scales():
    model = random_model(1, heads=(2,), mlp="none")
    heads = tuple(
        dataclasses.replace(head, scale=scale) for head, scale in zip(model.layers[0].heads, (0.5, 3.0), strict=True)
    )
    model = dataclasses.replace(model, layers=(Layer(heads),))
    np.testing.assert_allclose(model(tokens_of(20)), transformer_output(model, tokens_of(20))[0], atol=1e-12)


@pytest.mark.slow
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
