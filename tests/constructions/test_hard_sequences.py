"""Hard sequences: their seed and their contents."""

from __future__ import annotations

import numpy as np
import pytest

from anyorder.constructions.hard_sequences import KINDS, de_bruijn_cycle, hard_sequences


@pytest.mark.parametrize(("symbols", "order"), [(2, 1), (2, 5), (3, 3), (4, 2)])
def test_a_de_bruijn_cycle_has_every_word_once(symbols, order):
    cycle = de_bruijn_cycle(symbols, order).tolist()
    assert len(cycle) == symbols**order
    around = cycle + cycle[: order - 1]
    assert len({tuple(around[i : i + order]) for i in range(len(cycle))}) == symbols**order


def test_hard_sequences_come_from_their_seed():
    options = {"count": 8, "length": 100, "alphabet_size": 3, "order": 3}
    first, again, other = (hard_sequences(**options, seed=seed) for seed in (1, 1, 2))
    np.testing.assert_array_equal(first, again)
    assert (first != other).any(axis=1).all()
    assert first.min() >= 0
    assert first.max() <= 2
    sparse = first[list(KINDS).index("sparse")]
    assert np.bincount(sparse).max() > 75
