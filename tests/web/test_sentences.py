"""Sentences about a position, and the positions that they speak of, on a sequence that can be counted by eye."""

import types

import pytest

from anyorder.web.sentences import about, here
from anyorder.web.traced import TracedPosition

TOKENS = "abcabdab"


class Look(TracedPosition):
    """As much of a look at one position of TOKENS as sentences need, without a model."""

    order = 2

    def __init__(self, position):
        window = TOKENS[max(position - 1, 0) : position + 1]
        traced = types.SimpleNamespace(opened=types.SimpleNamespace(beta=0.5), alphabet_size=4)
        matches = [i for i in range(2, position + 1) if TOKENS[i - 2 : i] == window]
        self.__dict__.update(position=position, matches=matches, traced=traced)

    def name(self, position):
        return TOKENS[position]


@pytest.mark.parametrize(
    ("position", "kind", "sentence", "places"),
    [
        (7, "window", "Before position 7: d a.", [5, 6]),
        (1, "window", "Only 1 of 2 tokens are there", [0]),
        (0, "window", "Nothing stands before position 0", []),
        (7, "recent", "The last 2 tokens up to position 7: a b.", [6, 7]),
        (0, "recent", "there are 1 of 2 tokens: no window yet", []),
        (7, "oldest", "The token at offset 2 is x_5 = d", [5]),
        (1, "oldest", "Position 1 has no token at offset 2.", []),
        (7, "matches", "a b stands right before 2 positions: 2, 5.", [6, 7]),
        (4, "matches", "a b stands right before 1 position: 2.", [3, 4]),
        (5, "matches", "b d has not been seen before", [4, 5]),
        (7, "counts", "What stood there: c 1×, d 1×, of 2.", [2, 5]),
        (5, "counts", "No count: 0/0", []),
        (7, "smoothed", "of 2. The sink adds β = 0.5 to each of 4 symbols.", [2, 5]),
    ],
)
def test_what_is_said_and_of_which_positions(position, kind, sentence, places):
    assert sentence in here(Look(position), kind)
    assert about(Look(position), kind) == places
