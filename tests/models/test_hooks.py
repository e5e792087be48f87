"""Hooks are called at every place of the forward pass, which continues with the values that they return."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from tests.models.small import random_model, tokens_of

OPTIONS = {"projected": True, "key_offsets": 4, "value_offsets": 4, "beginning": True, "pre_norm": True}


@pytest.mark.slow
@pytest.mark.parametrize("length", [9, 300])  # one block of queries, and several
@pytest.mark.parametrize("options", [{}, OPTIONS], ids=["plain", "all options"])
def test_a_hook_that_changes_nothing_leaves_the_definition(options, length):
    model, tokens = random_model(0, heads=(2, 1), **options), tokens_of(length)
    seen = []

    def hook(place, values):
        seen.append(place)
        return values

    found, wanted = model.trace(tokens, hook=hook), model.trace(tokens)
    assert set(seen) == {"embedding", "read", "query", "key", "value", "attention", "written"}
    jax.tree.map(lambda one, other: np.testing.assert_allclose(one, other, atol=1e-12), found, wanted)


def test_with_nothing_written_the_output_reads_the_embedding():
    model, tokens = random_model(0, heads=(2, 1)), tokens_of(9)
    found = model.trace(tokens, hook=lambda place, values: values * (place != "written"))
    np.testing.assert_allclose(found.logits, np.asarray(model.embedding)[tokens] @ model.output.T, atol=1e-12)


def test_attention_of_a_hook_meets_the_values_and_their_positions():
    model, tokens = random_model(0, heads=(1,), mlp="none", value_offsets=2), tokens_of(9)
    (head,) = model.layers[0].heads
    own = model.trace(tokens, hook=lambda place, values: jnp.eye(9) if place == "attention" else values)
    stream = np.asarray(model.embedding)[tokens]
    np.testing.assert_allclose(
        own.streams[-1], stream + stream @ head.value.T + np.asarray(head.value_positions)[0], atol=1e-12
    )
