"""Weights as routes between named blocks, against the blocks moved by hand."""

import numpy as np
import pytest

from anyorder.constructions.stream import Stream

STREAM = Stream(token=3, window=3, gate=1)


def test_a_map_adds_up_what_its_routes_move():
    turn = np.random.default_rng(0).normal(size=(3, 3))
    matrix = STREAM.map(
        ("token", "window", 2.0),
        ("window", "window", turn),
        ("window", "window", 3.0),
        ("window", "gate", -1.0),
        ("gate", "window", 5.0),
    )
    vector = np.random.default_rng(1).normal(size=7)
    token, window, gate = vector[:3], vector[3:6], vector[6]
    expected = [np.zeros(3), 2 * token + turn @ window + 3 * window + 5 * gate, [-window.sum()]]
    np.testing.assert_allclose(matrix @ vector, np.concatenate(expected), atol=1e-12)
    scores = STREAM.map(("token", "score", 1.0), ("gate", "score", 2.0), to=Stream(score=1))
    np.testing.assert_allclose(scores @ vector, [token.sum() + 2 * gate], atol=1e-12)


def test_blocks_of_other_widths_are_no_route():
    with pytest.raises(AssertionError, match="token has width 3, pair has 2"):
        STREAM.map(("token", "pair", 1.0), to=Stream(pair=2))


def test_what_a_readout_reads_is_what_an_embedding_wrote():
    embedding = np.asarray(STREAM.embedding(gate=4.0, window=0.5))
    assert embedding.shape == (3, 7)
    np.testing.assert_array_equal(np.asarray(STREAM.readout("token")) @ embedding.T, np.eye(3))
    np.testing.assert_array_equal(embedding[:, 3:], [[0.5, 0.5, 0.5, 4.0]] * 3)


def test_a_table_has_one_size_for_many_orders():
    short, long = STREAM.table({1: {"gate": 1.0}}), STREAM.table({31: {"gate": 1.0}})
    assert short.shape == long.shape == (32, 7)
    assert STREAM.table({32: {"gate": 1.0}}).shape == (64, 7)
    assert (float(short[1, 6]), float(short.sum())) == (1.0, 1.0)
