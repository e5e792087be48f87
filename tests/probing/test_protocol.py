"""Our own models in the probe."""

import numpy as np
import pytest

import anyorder
from anyorder.constructions import construct
from anyorder.probing import OwnModel


def test_a_head_that_is_off_attends_as_before_and_writes_nothing():
    model = OwnModel(construct("k-head", order=2, alphabet_size=3, length=16), "k-head")
    tokens = np.array([0, 1, 2, 0, 1, 2, 0, 1])
    whole, off = (model.run(tokens, layers=[0, 1], off=heads) for heads in ((), [(1, 0)]))
    np.testing.assert_array_equal(whole.attention[0], off.attention[0])
    np.testing.assert_array_equal(whole.attention[1], off.attention[1])
    assert np.abs(np.exp(whole.log_probabilities) - np.exp(off.log_probabilities)).max() > 0.5


@pytest.mark.parametrize("name", ["convolution", "recurrent", "recurrent-bayes"])
def test_one_layer_with_a_convolution_has_its_order(name):
    model = construct(name, order=2, alphabet_size=3, length=96)
    (head,) = anyorder.probe(model).heads
    assert (head.kind, head.needed) == ("k-gram", (1, 2))
