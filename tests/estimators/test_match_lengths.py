"""Match lengths and attention by match length, of both kinds of arrays, next to plain counts."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from anyorder.estimators.match_lengths import by_length, match_lengths
from tests.estimators.sequences import slow_match_length

TOKENS = np.random.default_rng(0).integers(2, size=30)


@pytest.mark.parametrize("array", [np.asarray, jnp.asarray])
def test_match_lengths_are_those_of_a_plain_count(array):
    found = match_lengths(array(TOKENS), 4)
    for n in range(30):
        for i in range(30):
            assert found[n, i] == (slow_match_length(TOKENS, n, i, 4) if 0 < i < n else -1)


@pytest.mark.parametrize(
    "run", [lambda function, *given: function(*given), lambda function, *given: jax.jit(function)(*given)]
)
def test_mass_and_chance_are_sums_over_keys(run):
    attention = np.random.default_rng(1).random((30, 2, 30))
    lengths = match_lengths(TOKENS, 2)
    mass, expected = run(lambda attention, lengths: by_length(attention, lengths, 2), attention, lengths)
    for n in range(30):
        seen = lengths[n] >= 0
        for head in range(2):
            for length in range(3):
                keys = lengths[n] == length
                np.testing.assert_allclose(mass[n, head, length], attention[n, head, keys].sum(), rtol=1e-12)
                chance = attention[n, head, seen].sum() * keys.sum() / max(seen.sum(), 1)
                np.testing.assert_allclose(expected[n, head, length], chance, rtol=1e-12)
