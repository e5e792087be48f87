"""The proof at one position, in numbers and in sentences."""

import types

import numpy as np
import pytest

from anyorder.web.proof import TracedPosition, about, here
from tests.web.exploring import SYMBOLS, TOKENS, body, refused


def parts(story):
    """Every part by its name, the first of several."""
    return {part["name"]: part for step in reversed(story["steps"]) for part in reversed(step["parts"])}


@pytest.mark.parametrize(
    ("name", "weight"), [("dyadic", lambda i, k: 2 ** (i - 1)), ("attention-only", lambda i, k: 3 ** (k - i))]
)
def test_the_story_shows_the_code_of_the_window(client, name, weight):
    k, n = 3, 17
    story = client.post("/api/story", json={**body(name=name, order=k), "position": n}).raise_for_status().json()
    code = np.zeros(len(SYMBOLS))
    for i in range(1, k + 1):
        code[TOKENS[n - i]] += weight(i, k)
    shown = parts(story)
    np.testing.assert_array_equal(shown["v_n"]["values"], code)
    if name == "dyadic":
        isolated = np.zeros(len(SYMBOLS))
        isolated[TOKENS[n - k]] = 1
        np.testing.assert_array_equal(shown["isolated"]["values"], isolated)
        assert shown["v_n and the threshold"]["line"] == 2 ** (k - 1) - 1
        assert shown["v_n and the threshold"]["marks"] == [TOKENS[n - k]]
        query = np.zeros(len(SYMBOLS))
        for i in range(k):
            query[TOKENS[n - i]] += 2**i
        np.testing.assert_array_equal(shown["u_n"]["values"], query)
        assert max(shown["score"]["values"]) == pytest.approx(1, abs=1e-9)
        assert [place for place, score in enumerate(shown["score"]["values"]) if score > 1 - 1e-9] == story["matches"]


def test_a_position_outside_the_sequence_is_refused(client):
    for position, message in ((24 + 1, "0 to 24"), (-1, "position is -1"), (10**6, "position is 1000000")):
        assert message in refused(client.post("/api/story", json={**body(), "position": position}))


#: A sequence that can be counted by eye.
COUNTED = "abcabdab"


class Look(TracedPosition):
    """The part of a position of COUNTED that sentences need, without a model."""

    order = 2

    def __init__(self, position):
        window = COUNTED[max(position - 1, 0) : position + 1]
        traced = types.SimpleNamespace(opened=types.SimpleNamespace(beta=0.5), alphabet_size=4)
        matches = [i for i in range(2, position + 1) if COUNTED[i - 2 : i] == window]
        self.__dict__.update(position=position, matches=matches, traced=traced)

    def name(self, position):
        return COUNTED[position]


@pytest.mark.parametrize(
    ("position", "kind", "sentence", "places"),
    [
        (7, "window", "Before position 7: d a.", [5, 6]),
        (1, "window", "Only 1 of 2 tokens are there", [0]),
        (0, "window", "There is no token before position 0", []),
        (7, "recent", "The last 2 tokens up to position 7: a b.", [6, 7]),
        (0, "recent", "there are 1 of 2 tokens: no full window yet", []),
        (7, "oldest", "The token at offset 2 is x_5 = d", [5]),
        (1, "oldest", "Position 1 has no token at offset 2.", []),
        (7, "matches", "a b stands right before 2 positions: 2, 5.", [6, 7]),
        (4, "matches", "a b stands right before 1 position: 2.", [3, 4]),
        (5, "matches", "b d has not been seen before", [4, 5]),
        (7, "counts", "The tokens there: c 1×, d 1×, 2 in all.", [2, 5]),
        (5, "counts", "No count: 0/0", []),
        (7, "smoothed", "2 in all. The sink adds β = 0.5 to each of 4 symbols.", [2, 5]),
    ],
)
def test_what_is_said_and_of_which_positions(position, kind, sentence, places):
    assert sentence in here(Look(position), kind)
    assert about(Look(position), kind) == places
