"""Power laws."""

from __future__ import annotations

import numpy as np
import pytest

from anyorder import dynamics


def test_power_law_agrees_with_polyfit():
    x, y = np.array([8.0, 16, 32, 64]), np.array([0.9, 0.5, 0.24, 0.13])
    coefficients, covariance = np.polyfit(np.log(x), np.log(y), 1, cov=True)
    law = dynamics.power_law(x.tolist(), y)
    assert law.exponent == pytest.approx(coefficients[0])
    assert law.standard_error == pytest.approx(np.sqrt(covariance[0, 0]))
