"""Stage one in closed form, against plain steps along the printed gradient."""

import numpy as np
import pytest

from anyorder.papers.two_can.claims import gradient
from tests import oracles_dynamics as oracles


@pytest.mark.parametrize("plain", [False, True])
def test_closed_descent_is_that_of_plain_steps(plain):
    scores = np.random.default_rng(0).normal(size=64)
    p, rate = np.zeros(64), None
    p[0] = -1e9
    for found in gradient.closed_descent(scores, 2, plain=plain)[1:4]:
        direction = oracles.stage_one_gradient(p, scores, 1.0, 1, 2)
        if not plain:  # d_1/d_2 on the diagonal of the preconditioner: the offset 2 moves as the offset 1 does
            direction[:3] = 0.0, direction[1], direction[1]
        rate = 0.3 / np.abs(direction).max() if rate is None else rate
        p = p - rate * direction
        np.testing.assert_allclose(found, p, rtol=1e-12, atol=1e-9)
