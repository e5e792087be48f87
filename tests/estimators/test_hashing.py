"""Counts in the fields of one word."""

import numpy as np

from anyorder.estimators.streaming import StreamingEstimator


def test_counts_beyond_the_bit_fields():
    # 63 // 2 = 31 bits never fill in a test, 63 // 4 = 15 bits do.
    x = np.zeros(40_000, dtype=np.int64)
    x[-1] = 1
    stream = StreamingEstimator(2, 4)
    assert stream.probabilities(x)[-2:].tolist() == [1.0, 0.0]
    assert stream.distributions([0, 0, 0])[-1].tolist() == [39_998 / 39_999, 1 / 39_999, 0.0, 0.0]
    assert stream.contexts == 3
