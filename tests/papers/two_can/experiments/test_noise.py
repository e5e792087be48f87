"""References under noise."""

import numpy as np
import pytest

from anyorder.papers.two_can.experiments.noise import clean_loss, token_references
from anyorder.training.config import Data
from anyorder.training.reference import held_out


def test_the_clean_loss_is_the_entropy_of_the_kernel_at_its_contexts():
    data = Data(order=2, length=16, token_noise=0.25)
    found = held_out(data, 50)
    losses = []
    for kernel, clean in zip(np.asarray(found.kernels), np.asarray(found.clean), strict=True):
        rows = [kernel[tuple(clean[n - 2 : n])] for n in range(2, len(clean))]
        losses.append(np.mean([-(row[row > 0] * np.log(row[row > 0])).sum() for row in rows]))
    assert clean_loss(data, 50) == pytest.approx(np.mean(losses), rel=1e-9)


def test_without_noise_the_references_are_zero_and_add_one():
    found = token_references(Data(order=1, length=8, token_noise=1e-12), 200, 5)
    assert found["known"].mean == pytest.approx(0, abs=1e-9)
    assert 0.05 < found["unknown"].mean < 0.4


def test_half_of_the_tokens_replaced_leaves_nothing_to_know():
    found = token_references(Data(order=2, length=8, token_noise=0.5), 20, 3)
    assert found["known"].mean == pytest.approx(0, abs=1e-12)
    assert found["unknown"].mean == pytest.approx(0, abs=1e-12)
