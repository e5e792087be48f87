"""Kernels on which convergence is measured."""

import jax.numpy as jnp
import numpy as np
import pytest

from anyorder import chains
from anyorder.chains import Floored
from anyorder.papers.two_can import dynamics
from anyorder.papers.two_can.claims import convergence


def test_extreme_kernels_are_the_corners_of_the_floor():
    corners = convergence.extreme_kernels(0.2, 3)
    assert len(corners) == 27
    assert corners.min() == pytest.approx(0.2 / 3)
    np.testing.assert_allclose(corners.sum(axis=2), 1)
    assert ((corners > 0.2 / 3 + 1e-9).sum(axis=2) == 1).all()


@pytest.mark.slow
def test_generalisation_errors_are_distances_to_the_row_of_the_last_token():
    prior = Floored(1, 3, gamma=0.2)
    model = dynamics.initial(length=12, a_2=0.0)  # the frequencies of the symbols
    found = np.asarray(convergence.generalisation_errors(model, prior, 8))
    drawn = chains.sample(prior, length=12, count=8, start="stationary", seed=6)
    for error, tokens, kernel in zip(found, np.asarray(drawn.tokens), np.asarray(drawn.kernels), strict=True):
        frequencies = np.bincount(tokens, minlength=3) / 12
        assert error == pytest.approx(np.abs(frequencies - kernel[tokens[-1]]).max(), abs=1e-12)
    assert float(model(jnp.zeros(12, jnp.int32), 3)[0]) == pytest.approx(1)  # a constant sequence is answered by itself
