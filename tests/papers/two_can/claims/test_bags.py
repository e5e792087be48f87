"""Kernels that depend on the bag: their words, their scores and their estimators."""

import numpy as np
import pytest

from anyorder.chains import BagSymmetric, Dirichlet
from anyorder.papers.two_can.claims import bags
from tests import oracles_dynamics as oracles
from tests.papers.two_can.claims.small import KEY


@pytest.mark.parametrize(("order", "size", "alike"), [(2, 2, True), (3, 2, True), (2, 3, False)])
def test_words_of_bag_symmetric_chains_are_exchangeable_for_two_symbols(order, size, alike):
    kernel = np.asarray(BagSymmetric(order, size).draw(KEY))
    words = dict(oracles.words(kernel, order + 1))
    spread = max(abs(weight - words[tuple(sorted(word))]) for word, weight in words.items())
    assert (spread < 1e-12) == alike
    scores = [oracles.lag_score(kernel, lag) for lag in range(1, order + 1)]
    assert (np.ptp(scores) < 1e-12) == alike


def test_the_bag_estimates_kernels_of_the_bag_and_no_others():
    bag = bags.kernel_errors(BagSymmetric(2, 2), [512], 16)
    other = bags.kernel_errors(Dirichlet(2, 2), [512], 16)
    assert bag["bag of k"] < bag["k-gram"] < [0.08]
    assert other["bag of k"][0] > 1.5 * other["k-gram"][0]
