"""The proof as it is told at one position."""

import numpy as np
import pytest

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
