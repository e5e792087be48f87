"""The displayed values of proof steps equal those in the stream."""

import numpy as np
import pytest

from anyorder.constructions import plan
from tests.constructions.cases import TOKENS


@pytest.mark.parametrize(("heads", "group"), [(1, 1), (1, 3), (2, 2)])
def test_digits_are_the_tokens_of_the_window(heads, group):
    order, symbols = 5, 3
    made = plan("unrolled", order=order, alphabet_size=symbols, length=40, dtype="float32", heads=heads, group=group)
    trace = made.build().trace(TOKENS)
    shown = {show.name: show for step in made.steps for show in step.shows if show.name.startswith("x_(n-")}
    for offset in range(1, order + 1):
        digit = shown[f"x_(n-{offset})"]
        value = sum(factor * np.asarray(trace.block(block, digit.point)) for block, factor in digit.of)
        np.testing.assert_array_equal(value[order:], np.eye(symbols)[TOKENS[order - offset : -offset]])
    np.testing.assert_array_equal(np.asarray(trace.block("full", "mlp 1.2"))[:, 0], np.arange(40) >= order)
