"""A source as configs describe it."""

import numpy as np

from anyorder.training.config import Data


def test_a_batch_may_share_kernels():
    drawn = Data(length=8).source_of(9, per_kernel=3).sample(0, 6)
    kernels = np.asarray(drawn.kernels)
    assert (kernels[0] == kernels[2]).all()
    assert (kernels[3] == kernels[5]).all()
    assert not (kernels[2] == kernels[3]).any()
    assert len({tuple(row) for row in np.asarray(drawn.tokens).tolist()}) > 2
