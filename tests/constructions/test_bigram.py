"""The bigram construction, with and without its gate."""

import numpy as np

from anyorder.constructions import construct
from tests import oracles_constructions as oracles
from tests.constructions.cases import worst_error


def test_bigram_needs_its_gate():
    tokens = np.array([[0, 1, 1, 0, 1, 0, 0, 1] * 8])
    gated = construct("bigram", order=1, alphabet_size=2, length=64)
    published = construct("bigram", order=1, alphabet_size=2, length=64, gated=False)
    assert worst_error(gated, oracles.kgram, 1, tokens)[0] < 1e-7
    assert worst_error(published, oracles.kgram, 1, tokens)[0] > 0.1
    assert worst_error(published, oracles.biased, 1, tokens)[0] < 1e-7
    assert published.certificate.estimator == "biased"
