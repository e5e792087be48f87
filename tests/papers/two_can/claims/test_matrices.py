"""Index sets as printed, against an oracle."""

from __future__ import annotations

import numpy as np

from anyorder.papers.two_can.claims import matrices
from tests import oracles_constructions as oracles


def test_the_index_sets_are_those_that_the_k_gram_counts():
    tokens = np.random.default_rng(0).integers(0, 2, 40)
    given = matrices.frequencies(tokens, 2, range(2))
    np.testing.assert_allclose(given, oracles.kgram(tokens.tolist(), 2, 2), atol=1e-12)
