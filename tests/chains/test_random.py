"""Uniform numbers."""

import numpy as np
import pytest
import scipy.stats

from tests.chains.small import KEY


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_uniforms_are_uniform_and_below_one(dtype):
    from anyorder.chains.random import uniforms

    drawn = np.asarray(uniforms(KEY, (100_001,), dtype))
    assert drawn.dtype == dtype
    assert drawn.min() >= 0
    assert drawn.max() < 1
    assert scipy.stats.kstest(drawn, "uniform").pvalue > 1e-3
    assert abs(np.corrcoef(drawn[:-1], drawn[1:])[0, 1]) < 0.015  # halves of one word are independent
