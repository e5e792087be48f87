"""The recorded exact orders."""

from __future__ import annotations

import pytest

from anyorder.constructions import exact_orders


@pytest.mark.slow
@pytest.mark.parametrize(("name", "dtype", "order"), [("dyadic", "float32", 10), ("attention-only", "float32", 6)])
def test_exact_orders_on_file_are_those_that_measure(name, dtype, order):
    table = exact_orders.measured()
    row = table[name][dtype]
    assert row.exact >= order  # the certified order
    assert exact_orders.worst_error(name, row.exact, 2, row.length, dtype) <= exact_orders.TOLERANCE
    assert exact_orders.worst_error(name, row.exact + 3, 2, row.length, dtype) > exact_orders.TOLERANCE


def test_no_trusted_order_is_above_the_measured_one():
    for row in exact_orders.precision_table():
        for dtype, found in row.measured.items():
            assert found is None or row.certified[dtype] <= found.resolved, (row.label, dtype)
