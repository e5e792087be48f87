"""Kernels on which convergence is measured."""

import numpy as np
import pytest

from anyorder.papers.two_can.claims import convergence


def test_extreme_kernels_are_the_corners_of_the_floor():
    corners = convergence.extreme_kernels(0.2, 3)
    assert len(corners) == 27
    assert corners.min() == pytest.approx(0.2 / 3)
    np.testing.assert_allclose(corners.sum(axis=2), 1)
    assert ((corners > 0.2 / 3 + 1e-9).sum(axis=2) == 1).all()
