"""When a head is born."""

import numpy as np

from anyorder.papers.own.birth import born


def test_a_step_that_never_comes_has_no_date():
    steps = np.array([0, 100, 200])
    spectrum = np.array([[1, 1, 1], [0.5, 1.5, 1.5], [0.2, 2.0, 2.1]])
    assert born(steps, spectrum, 1) == 100
    assert born(steps, spectrum, 2) is None
