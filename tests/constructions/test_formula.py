"""Formulas as they are printed, against Python."""

from __future__ import annotations

import pytest

from anyorder.constructions.formula import evaluated


@pytest.mark.parametrize(
    ("formula", "value"),
    [
        ("T + k - 1", 12),
        ("9d² + d(2T + 2S + 9)", 9 * 49 + 7 * (20 + 4 + 9)),
        ("S^(k + 1) + kd", 2**4 + 21),
        ("(⌊3k/2⌋ + 3)S + 2⌈k/2⌉", (4 + 3) * 2 + 4),
        ("2⌈T/d⌉", 4),
    ],
)
def test_formulas_are_read_as_people_write_them(formula, value):
    assert evaluated(formula, k=3, S=2, T=10, d=7) == value
