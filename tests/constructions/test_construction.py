"""Options of a construction, and its formulas as printed."""

import pytest

from anyorder.constructions import plan
from anyorder.constructions.construction import evaluated
from anyorder.errors import InputError


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"heads": 0}, "heads is 0, must be at least 1"),
        ({"heads": 4}, "heads is 4, must be at most the order 3"),
        ({"heads": 1.5}, "heads is 1.5, must be a whole number"),
        ({"group": 0}, "group is 0, must be 1 to 6"),
        ({"name": "unrolled-bayes", "beta": 0}, "beta is 0, must be above 0"),
        ({"name": "unrolled-bayes", "beta": float("nan")}, "beta is nan, must be a number"),
    ],
)
def test_bad_options_get_one_line(options, message):
    request = {"name": "unrolled", "order": 3, "alphabet_size": 2, "length": 64} | options
    with pytest.raises(InputError) as caught:
        plan(request.pop("name"), **request)
    assert str(caught.value).startswith(message)


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
