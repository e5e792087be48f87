import numpy as np
import pytest

from anyorder.errors import InputError
from anyorder.probing import match_lengths, sequences
from anyorder.probing.stimuli import fitting, uniform


@pytest.mark.parametrize(("symbols", "max_length"), [(2, 9), (4, 5), (4, 3)])
def test_every_query_has_keys_of_every_match_length(symbols, max_length):
    drawn = sequences(4, length=300, symbols=symbols, max_length=max_length)
    for tokens, queries in zip(drawn.tokens, drawn.queries, strict=True):
        lengths = match_lengths(tokens, max_length)[queries]
        assert len(lengths) >= 2
        for row in lengths:
            assert set(range(max_length + 1)) <= set(row.tolist())


def test_the_token_at_a_matching_key_is_fresh():
    """A head that looks for copies of a token must not look like an induction head."""
    drawn = sequences(200)
    following = np.zeros(4)
    for tokens, queries in zip(drawn.tokens, drawn.queries, strict=True):
        lengths = match_lengths(tokens, 5)
        for n in np.flatnonzero(queries):
            following += np.bincount((tokens[lengths[n] == 5] - tokens[n]) % 4, minlength=4)
    np.testing.assert_allclose(following / following.sum(), 0.25, atol=0.03)


def test_uniform_sequences_have_every_pattern_often():
    symbols, longest = fitting(48, 192, range(2, 5), 5)
    tokens = uniform(48, symbols=symbols, max_length=longest).tokens
    windows = np.lib.stride_tricks.sliding_window_view(tokens, longest, axis=1)
    counts = []
    for row in windows:  # the window that ends at n, and that which ends before i, i < n
        same = row[:, None] == row[None]
        earlier = np.tri(len(row), k=-2, dtype=bool)
        counts.append([(same.all(-1) & earlier).sum(), (same[..., :-1].all(-1) & ~same[..., -1] & earlier).sum()])
    whole, flipped = np.sum(counts, axis=0)
    assert whole > 400
    assert flipped > 400


def test_the_seed_decides():
    assert np.array_equal(sequences(2, seed=3).tokens, sequences(2, seed=3).tokens)
    assert not np.array_equal(sequences(2, seed=3).tokens, sequences(2, seed=4).tokens)


def test_short_sequences_are_refused():
    with pytest.raises(InputError, match="length is 50, must be at least 110"):
        sequences(2, length=50)
