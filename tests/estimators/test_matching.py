"""The ideal attention over matching positions."""

import jax.numpy as jnp
import numpy as np
from hypothesis import given, settings

from anyorder import estimators
from tests.estimators.sequences import sequences


@settings(max_examples=40, deadline=None)
@given(case=sequences())
def test_pseudo_attention_is_uniform_over_the_matching_positions(case):
    tokens, order, size = case
    attention = np.asarray(estimators.pseudo_attention(jnp.array(tokens, jnp.int32), order))
    for n in range(len(tokens)):
        matching = [
            i for i in range(order, n + 1) if n >= order - 1 and tokens[i - order : i] == tokens[n - order + 1 : n + 1]
        ]
        expected = np.zeros(len(tokens))
        expected[matching] = 1 / max(len(matching), 1)
        np.testing.assert_allclose(attention[n], expected, rtol=1e-15)
    # Attention times the one-hot tokens is the k-gram itself.
    probabilities, defined = estimators.kgram(tokens, order=order, alphabet_size=size)
    np.testing.assert_allclose((attention @ np.eye(size)[tokens])[defined], probabilities[defined], atol=1e-15)
