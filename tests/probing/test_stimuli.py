from collections import Counter

import numpy as np
import pytest

from anyorder.errors import InputError
from anyorder.probing import match_lengths, sequences
from anyorder.probing.stimuli import complete, fitting


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


def patterns(tokens, n, i, longest):
    """The number of agreeing offsets 1 … K, and the only one that does not agree, or else the only one that does."""
    agree = [tokens[i - j] == tokens[n - j + 1] for j in range(1, longest + 1)]
    odd = agree.index(False) if sum(agree) == longest - 1 else agree.index(True) if sum(agree) == 1 else None
    return sum(agree), odd


@pytest.mark.parametrize(("length", "symbols", "longest"), [(192, 4, 5), (192, 2, 9), (65, 3, 5), (190, 4, 9)])
def test_planted_rows_have_every_pattern_equally_often(length, symbols, longest):
    drawn = complete(3, length=length, symbols=symbols, max_length=longest)
    for tokens, pairs in zip(drawn.tokens, drawn.pairs, strict=True):
        rows = np.flatnonzero(pairs.any(axis=1))
        assert len(rows) >= 1
        for n in rows:
            counts = Counter(patterns(tokens, n, i, longest) for i in np.flatnonzero(pairs[n]))
            assert len(counts) == 2 * longest + 2
            assert len(set(counts.values())) == 1
            assert not pairs[n, n:].any()
            assert not pairs[n, :longest].any()


@pytest.mark.parametrize(("length", "symbols", "longest"), [(32, 2, 4), (64, 2, 5), (192, 4, 3)])
def test_rows_of_uniform_sequences_have_a_match_and_every_flip(length, symbols, longest):
    assert fitting(length, range(symbols, symbols + 1), longest) == (symbols, longest)
    drawn = complete(48, length=length, symbols=symbols, max_length=longest)
    assert drawn.pairs.any(axis=2).sum() > 48
    for tokens, pairs in zip(drawn.tokens[:4], drawn.pairs, strict=False):
        for n in np.flatnonzero(pairs.any(axis=1)):
            counts = Counter(patterns(tokens, n, i, longest) for i in range(longest, n))
            assert all(counts[longest - 1, j] for j in range(longest))
            assert counts[longest, None]


def test_planted_keys_are_as_far_away_and_as_fresh_for_every_pattern():
    distances, copies = {}, {}
    drawn = sequences(300)
    for tokens, pairs in zip(drawn.tokens, drawn.pairs, strict=True):
        for n, i in np.argwhere(pairs):
            kind = patterns(tokens, n, i, 5)
            distances.setdefault(kind, []).append(n - i)
            copies.setdefault(kind, []).append(tokens[i] == tokens[n])
    np.testing.assert_allclose([np.mean(values) for values in distances.values()], 93, atol=4)
    np.testing.assert_allclose([np.mean(values) for values in copies.values()], 0.25, atol=0.06)


def test_the_seed_decides():
    assert np.array_equal(sequences(2, seed=3).tokens, sequences(2, seed=3).tokens)
    assert not np.array_equal(sequences(2, seed=3).tokens, sequences(2, seed=4).tokens)


def test_short_sequences_are_refused():
    with pytest.raises(InputError, match="length is 50, must be at least 65"):
        sequences(2, length=50)
