"""The figure of prices: certified models above their bounds, over orders and lengths."""

from __future__ import annotations

import pytest

from anyorder.constructions.price import SHOWN
from anyorder.papers.own.price import chart


@pytest.mark.parametrize(("order", "length"), [(3, 1024), (1, 3), (12, 64)])
def test_certified_models_stay_above_the_bounds(order, length):
    for panel in chart(order=order, alphabet_size=2, length=length, dtype="float32").charts:
        assert len(panel.series) == 2 * len(SHOWN)
        for paid, least in zip(panel.series[::2], panel.series[1::2], strict=True):
            assert paid.x == least.x
            assert all(more >= less >= 0 for more, less in zip(paid.y, least.y, strict=True))


def test_the_price_of_one_layer_is_linear_in_the_length_and_that_of_two_does_not_grow():
    over_length = {one.label: one for one in chart(order=3, alphabet_size=2, length=1024).charts[1].series}
    least = over_length["one-layer, at least"]
    assert least.y[-1] / least.y[-2] == pytest.approx(2, rel=0.01)
    assert len(set(over_length["unrolled, at least"].y)) == 1
