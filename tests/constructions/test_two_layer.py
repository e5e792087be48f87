"""Theorem 3: the output of its MLP."""

import numpy as np

from anyorder.constructions import construct
from tests import oracles_constructions as oracles
from tests.constructions.cases import RANDOM


def test_the_mlp_of_theorem_3_isolates_the_oldest_token_and_forms_the_query():
    order, tokens = 4, RANDOM[0, :60]
    for name, base in (("two-layer", 3), ("dyadic", 2)):
        trace = construct(name, order=order, alphabet_size=2, length=60).trace(tokens)
        oldest = np.asarray(trace.block("oldest", "mlp 1.1"))
        query = np.asarray(trace.block("query", "mlp 1.2"))
        key = np.asarray(trace.block("key", "mlp 1.3"))
        for n in range(order, 60):
            code = sum(base**i * np.eye(2)[tokens[n - i]] for i in range(order))
            before = sum(base ** (i - 1) * np.eye(2)[tokens[n - i]] for i in range(1, order + 1))
            np.testing.assert_allclose(oldest[n], np.eye(2)[tokens[n - order]], atol=1e-12)
            np.testing.assert_allclose(query[n], oracles.unit(code), atol=1e-12)
            np.testing.assert_allclose(key[n], oracles.unit(before), atol=1e-12)
