"""Distances of a quantised network are finite, with two bits too."""

import numpy as np
import pytest

from anyorder.papers.two_can.experiments.bits import FORMATS, distances
from tests.papers.two_can.experiments.small import TOKENS, model


@pytest.mark.parametrize("preset", ["paper", "floor"])
@pytest.mark.slow
def test_no_format_gives_a_nan(preset):
    # A small start makes queries and keys tiny, where a rounded denominator gave 0/0.
    for q in FORMATS.values():
        assert np.isfinite(distances([model(preset, weights="gpt2")], TOKENS, 2, q)).all()
