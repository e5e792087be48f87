"""Instruments of entries, against plain loops."""

from __future__ import annotations

import numpy as np
import pytest

from anyorder.papers.two_can.claims import measures


def test_the_nearest_codes_are_found_among_all_pairs():
    vectors = measures.codes(3, 3)
    units = vectors / np.linalg.norm(vectors, axis=1, keepdims=True)
    pairs = [np.linalg.norm(a - b) for i, a in enumerate(units) for b in units[:i]]
    assert measures.nearest(vectors) == pytest.approx(min(pairs), rel=1e-12)
