"""A head for each offset needs hardly any bits."""

import numpy as np

from anyorder.constructions import construct, plan
from anyorder.io.numerics import DTYPES
from tests.constructions.cases import TOKENS


def test_heads_need_no_bits():
    for dtype in DTYPES:
        assert construct("k-head", order=16, alphabet_size=2, length=1024, dtype=dtype).certificate.bits_needed <= 8


def test_k_head_is_the_member_with_one_offset_a_head():
    asked = {"order": 3, "alphabet_size": 2, "length": 40, "dtype": "float32"}
    one, other = construct("k-head", **asked), construct("unrolled", **asked, heads=3)
    assert one.blocks == other.blocks
    assert not other.layers[0].mlp
    assert plan("k-head", **asked).steps == plan("unrolled", **asked, heads=3).steps
    np.testing.assert_array_equal(one(TOKENS % 2), other(TOKENS % 2))
