"""What entries measure with, against oracles."""

from __future__ import annotations

import numpy as np
import pytest

from anyorder.claims import measures
from anyorder.constructions import construct
from tests import oracles_constructions as oracles


def test_the_index_sets_are_those_that_the_k_gram_counts():
    tokens = np.random.default_rng(0).integers(0, 2, 40)
    tokens[-1] = 1  # both symbols occur
    given = measures.frequencies_at(measures.matches(tokens, 2, range(2)), tokens)
    np.testing.assert_allclose(given, oracles.kgram(tokens.tolist(), 2, 2), atol=1e-12)


def test_the_second_reading_of_definition_three_computes_the_k_gram():
    tokens = np.random.default_rng(1).integers(0, 2, 30)
    model = construct("two-head", order=2, alphabet_size=2, length=30)
    exact = np.asarray(oracles.kgram(tokens.tolist(), 2, 2))
    defined = ~np.isnan(exact[:, 0])
    np.testing.assert_allclose(measures.definition_three(model, tokens)[defined], exact[defined], atol=1e-6)


def test_the_nearest_codes_are_found_among_all_pairs():
    vectors = measures.codes(3, 3)
    units = vectors / np.linalg.norm(vectors, axis=1, keepdims=True)
    pairs = [np.linalg.norm(a - b) for i, a in enumerate(units) for b in units[:i]]
    assert measures.nearest(vectors) == pytest.approx(min(pairs), rel=1e-12)
