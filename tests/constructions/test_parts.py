"""The first head and its anchor."""

import numpy as np
import pytest

from anyorder.constructions import construct


@pytest.mark.parametrize("name", ["two-layer", "dyadic", "attention-only"])
def test_the_block_of_the_window_is_its_code_with_and_without_anchor(name):
    order, tokens = 2, [0, 1, 1, 0, 1]
    trace = construct(name, order=order, alphabet_size=2, length=5).trace(tokens)
    weights = {"two-layer": (1 / 4, 3 / 4), "dyadic": (1, 2), "attention-only": (3, 1)}[name]  # offsets 1 and 2
    for n in range(order, 5):
        expected = [sum(w for i, w in enumerate(weights, 1) if tokens[n - i] == s) for s in (0, 1)]
        np.testing.assert_allclose(trace.block("window", "attention 1")[n], expected, atol=1e-12)
