"""Filters under token noise, against enumeration of all clean sequences."""

import itertools
from math import comb

import jax.numpy as jnp
import numpy as np
import pytest

from anyorder.chains import TokenNoise
from anyorder.estimators import hidden

SEEN = np.array([0, 1, 1, 0, 1, 0, 0, 1, 1, 1])
P = 0.2


def probability(clean, rows, order):
    """Of a clean sequence: the first k tokens are uniform."""
    chance = 0.5**order
    for n in range(order, len(clean)):
        chance *= rows[tuple(clean[n - order : n])][clean[n]]
    return chance


def marginal(clean, order):
    """The same with every row integrated over the uniform prior: 1 / ((n + 1) C(n, ones)) for each context."""
    counts = {}
    for n in range(order, len(clean)):
        counts.setdefault(tuple(clean[n - order : n]), [0, 0])[clean[n]] += 1
    return 0.5**order * np.prod([1 / ((a + b + 1) * comb(a + b, a)) for a, b in counts.values()])


def by_enumeration(seen, chance_of):
    """The predictive distribution after all seen tokens but the last, for that last one."""
    joint = np.zeros(2)
    for clean in itertools.product((0, 1), repeat=len(seen)):
        kept = np.prod([1 - P if c == s else P for c, s in zip(clean[:-1], seen[:-1], strict=True)])
        chance = kept * chance_of(clean)
        joint[clean[-1]] += chance * (1 - P)
        joint[1 - clean[-1]] += chance * P
    return joint / joint.sum()


@pytest.mark.parametrize("order", [1, 2])
def test_the_filter_that_knows_the_kernel(order):
    kernel = np.random.default_rng(order).dirichlet((1, 1), 2**order).reshape(*(2,) * order, 2)
    found = hidden.filtered(jnp.asarray(SEEN[:-1], jnp.int32), jnp.asarray(kernel), TokenNoise(P))
    wanted = by_enumeration(SEEN, lambda clean: probability(clean, kernel, order))
    np.testing.assert_allclose(found.probabilities[-1], wanted, atol=1e-12)


@pytest.mark.parametrize("order", [1, 2])
def test_the_predictor_that_does_not(order):
    seen = SEEN if order == 1 else SEEN[:8]
    nodes = hidden.uniform_nodes(order, 6)  # exact to 11 tokens in each row
    found = hidden.bayes_under_token_noise(jnp.asarray(seen[:-1], jnp.int32), TokenNoise(P), nodes)
    wanted = by_enumeration(seen, lambda clean: marginal(clean, order))
    np.testing.assert_allclose(found[-1], wanted, atol=1e-10)
