"""The first head and its anchor, and rejected sizes."""

import tracemalloc

import numpy as np
import pytest

from anyorder.constructions import construct, plan
from anyorder.errors import InputError


@pytest.mark.parametrize("name", ["two-layer", "dyadic", "attention-only"])
def test_the_block_of_the_window_is_its_code_with_and_without_anchor(name):
    order, tokens = 2, [0, 1, 1, 0, 1]
    trace = construct(name, order=order, alphabet_size=2, length=5).trace(tokens)
    weights = {"two-layer": (1 / 4, 3 / 4), "dyadic": (1, 2), "attention-only": (3, 1)}[name]  # offsets 1 and 2
    for n in range(order, 5):
        expected = [sum(w for i, w in enumerate(weights, 1) if tokens[n - i] == s) for s in (0, 1)]
        np.testing.assert_allclose(trace.block("window", "attention 1")[n], expected, atol=1e-12)


@pytest.mark.parametrize(("name", "width"), [("convolution", 66_560), ("k-head", 66_561), ("unrolled", 99_842)])
def test_matrices_beyond_memory_are_refused_before_anything_is_allocated(name, width):
    plan("unrolled", order=1, alphabet_size=2, length=8).build()  # imports and caches
    tracemalloc.start()
    with pytest.raises(
        InputError, match=rf"rows of {width:,} numbers, and would need about \d+ GiB .* use order ≤ \d+ or"
    ):
        construct(name, order=128, alphabet_size=512, length=1 << 20, force=True)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 1 << 23


def test_the_order_that_a_refusal_names_fits(monkeypatch):
    monkeypatch.setattr("anyorder.constructions.parts.free_memory", lambda: 1 << 20)
    monkeypatch.setattr("anyorder.io.gates.free_memory", lambda: 1 << 20)
    monkeypatch.setattr("anyorder.io.gates.SMALL", 0)
    with pytest.raises(InputError, match=r"use order ≤ (\d+) or fewer symbols") as refused:
        construct("convolution", order=100, alphabet_size=4, length=256)
    order = int(str(refused.value).partition("order ≤ ")[2].partition(" ")[0])
    assert construct("convolution", order=order, alphabet_size=4, length=256).dimension == (order + 2) * 4
