"""The margin of two heads that compare cosines, over full and partial windows."""

import pytest

from anyorder.constructions import construct
from tests.oracles_constructions import codes, unit


@pytest.mark.parametrize(("symbols", "longest"), [(2, 5), (3, 3)])
def test_qk_margin_bounds_full_and_partial_windows(symbols, longest):
    for order in range(1, longest + 1):
        windows = list(codes(symbols, order, 3))
        partial = [code for length in range(1, order) for code in codes(symbols, length, 3)]
        gaps = [1 - unit(u) @ unit(v) for u in windows for v in windows + partial]
        promised = construct("two-head-qk", order=order, alphabet_size=symbols, length=99).certificate.margin
        assert promised <= min(gap for gap in gaps if gap > 1e-13)
