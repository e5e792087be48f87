"""Options of a construction."""

import pytest

from anyorder.constructions import plan
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
