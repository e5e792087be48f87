"""Return counts against enumeration of whole sequences."""

import numpy as np
import pytest

from anyorder.chains import Reversible
from anyorder.papers.two_can.claims import spectral
from anyorder.papers.two_can.claims.measures import drawn
from tests import oracles_dynamics as oracles


@pytest.mark.parametrize("order", [1, 2])
def test_return_counts_are_those_of_enumerated_sequences(order):
    kernels = drawn(Reversible(order, 3 if order == 1 else 2, falling=False), 2)
    found = spectral.counts(kernels, 3)
    for kernel, counts in zip(kernels, found, strict=True):
        for lag in range(1, 4):
            expected = sum(
                oracles.later(kernel, context, lag, symbol)
                for context in np.ndindex(*(kernel.shape[-1],) * order)
                for symbol in context
            )
            assert counts[lag - 1] == pytest.approx(expected, abs=1e-12)
