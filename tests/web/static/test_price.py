"""The figure of prices on the page: the numbers of `price`, from a server and from a file."""

from __future__ import annotations

import re

import pytest

from anyorder.constructions.price import price
from anyorder.web.api import prices

pytestmark = pytest.mark.slow


def test_the_page_draws_the_price_over_the_order_and_over_the_length(page, address):
    page.goto(f"{address}#show=price")
    page.wait_for_selector("body[data-state=ready]")
    page.click("button[data-show=prediction]")
    charts = page.locator("#price svg")
    assert charts.count() == 2
    for chart in range(2):
        paths = charts.nth(chart).locator("path")
        assert paths.count() == 6
        places = len(prices()[chart].places)
        # Solid above dotted at every place: the y axis of a drawing points down.
        heights = [
            [float(y) for _, y in re.findall(r"[ML]([\d.]+) ([\d.]+)", paths.nth(line).get_attribute("d"))]
            for line in range(6)
        ]
        for paid, least in zip(heights[::2], heights[1::2], strict=True):
            assert len(paid) == len(least) == places
            assert all(above <= below for above, below in zip(paid, least, strict=True))
    assert "recurrent: bits of state" in page.text_content("#price p")


def test_the_numbers_are_those_of_the_command():
    over_order, over_length = prices()
    for line in over_order.lines:
        found = [price(line.name, order=k, alphabet_size=2, length=1024) for k in range(1, 9)]
        assert (line.pays, line.least) == ([one.pays for one in found], [one.least for one in found])
    assert over_length.places[-1] == 2**14
