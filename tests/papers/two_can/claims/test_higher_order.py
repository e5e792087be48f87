"""Chains of order two: returns and Assumption 2 against enumeration of whole sequences."""

import numpy as np
import pytest

from anyorder.chains import Kernel
from anyorder.papers.two_can.claims import higher_order
from tests import oracles_dynamics as oracles


def binary(zero):
    """A kernel from π(0 | …), oldest token first, as a batch of one."""
    return np.stack([zero, 1 - np.asarray(zero)], axis=-1)[None]


def test_returns_are_those_of_enumerated_sequences_and_need_not_fall():
    example = binary([[0.8, 0.3], [0.45, 0.25]])
    expected = [oracles.later(example[0], (0, 0), i, 0) for i in (1, 2, 3, 4)]
    np.testing.assert_allclose(higher_order.returns(example, 4)[0, 0], expected, atol=1e-12)
    assert higher_order.recursion(example, 3)[0, 0].round(12).tolist() == [0.8, 0.7, 0.65]  # right up to i = 2
    # All three parts of Assumption 2 under its name, contexts newest first, and yet P^4(0|00) > P^3(0|00).
    other = binary([[0.756, 0.435], [0.983, 0.429]])
    assert higher_order.preference(other, newest_first=True) > 0
    assert higher_order.returns(other, 2)[0, :, 1].sum() >= 1
    assert Kernel(other[0]).reversible
    assert oracles.later(other[0], (0, 0), 4, 0) > oracles.later(other[0], (0, 0), 3, 0)
    assert higher_order.fall(np.concatenate([example, other])).tolist() == [True, False]


def test_assumption_two_as_printed_is_that_the_kernel_depends_on_the_bag():
    bag, other = binary([[0.8, 0.4], [0.4, 0.1]]), binary([[0.8, 0.3], [0.45, 0.25]])
    for kernel, alike in ((bag, True), (other, False)):
        words = dict(oracles.words(kernel[0], 3))
        shifted = max(abs(weight - words[(word[1], word[2], word[0])]) for word, weight in words.items())
        assert (shifted < 1e-12) == alike
        assert higher_order.cyclic_defect(kernel)[0] == pytest.approx(shifted, abs=1e-12)
        assert max(abs(weight - words[word[::-1]]) for word, weight in words.items()) < 1e-12  # reversal asks nothing
    met = higher_order.as_printed(50)
    assert len(met) == 50
    np.testing.assert_array_equal(met[:, 0, 1], met[:, 1, 0])
    assert (higher_order.preference(met, newest_first=False) > 0).all()
    assert higher_order.fall(met).all()
