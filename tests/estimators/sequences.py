"""Sequences that several tests of estimators draw."""

from hypothesis import strategies as st

SHAPES = [(1, 2, 2), (1, 3, 20), (2, 2, 24), (3, 4, 4), (4, 2, 24), (4, 3, 13)]


@st.composite
def sequences(draw):
    # Few shapes, because each one is compiled; only the values vary.
    order, size, length = draw(st.sampled_from(SHAPES))
    kind = draw(st.sampled_from(["random", "constant", "periodic", "sparse"]))
    if kind == "constant":
        tokens = [draw(st.integers(0, size - 1))] * length
    elif kind == "periodic":
        motif = draw(st.lists(st.integers(0, size - 1), min_size=1, max_size=4))
        tokens = (motif * length)[:length]
    elif kind == "sparse":  # mostly zeros: long runs, few distinct contexts
        ones = draw(st.sets(st.integers(0, length - 1), max_size=3))
        tokens = [int(place in ones) for place in range(length)]
    else:
        tokens = draw(st.lists(st.integers(0, size - 1), min_size=length, max_size=length))
    return tokens, order, size


def slow_match_length(tokens, n, i, longest):
    """The match length of query n and key i, counted token by token."""
    length = 0
    while length < longest and i - 1 - length >= 0 and n - length >= 0 and tokens[i - 1 - length] == tokens[n - length]:
        length += 1
    return length
