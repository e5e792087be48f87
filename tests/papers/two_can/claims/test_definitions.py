"""Definition 3 read again, against an oracle."""

from __future__ import annotations

import numpy as np

from anyorder.constructions import construct
from anyorder.papers.two_can.claims import definitions
from tests import oracles_constructions as oracles


def test_the_second_reading_of_definition_three_computes_the_k_gram():
    tokens = np.random.default_rng(1).integers(0, 2, 30)
    model = construct("two-head", order=2, alphabet_size=2, length=30)
    exact = np.asarray(oracles.kgram(tokens.tolist(), 2, 2))
    defined = ~np.isnan(exact[:, 0])
    np.testing.assert_allclose(definitions.definition_three(model, tokens)[defined], exact[defined], atol=1e-6)
