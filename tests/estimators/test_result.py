"""Estimates of traced tokens: those outside the alphabet cannot be rejected, and make rows NaN."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from anyorder import estimators

FINE = [0, 1, 0, 1, 1, 0, 1, 0]


@pytest.mark.parametrize("outside", [2, -1])
def test_a_traced_token_outside_the_alphabet_makes_the_rows_from_there_on_nan(outside):
    bad = [*FINE[:4], outside, *FINE[5:]]
    found = jax.vmap(lambda tokens: estimators.add_beta(tokens, order=1, alphabet_size=2))(jnp.asarray([FINE, bad]))
    alone = estimators.add_beta(FINE, order=1, alphabet_size=2)
    np.testing.assert_array_equal(found.probabilities[0], alone.probabilities)
    np.testing.assert_array_equal(found.probabilities[1, :4], alone.probabilities[:4])
    assert np.isnan(found.probabilities[1, 4:]).all()
    assert found.defined.tolist() == [[True] * 8, [True] * 4 + [False] * 4]
