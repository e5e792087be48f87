"""The code of layer 1: its base, and which contexts it confuses."""

import jax.numpy as jnp
import numpy as np
import pytest

from anyorder import estimators
from anyorder.papers.two_can.experiments.learned_code import (
    fitted_base,
    longer_match_ratio,
    match_contrast,
    pairs,
    telling,
    uniform_distances,
    weight_beyond,
)

TOKENS = jnp.asarray(np.random.default_rng(0).integers(0, 2, (40, 24)), jnp.int32)


def test_the_base_of_a_construction_is_found_with_its_interval():
    weights = np.array([[0.0, 1.0, 3 * np.exp(noise)] for noise in (-0.1, 0.0, 0.1)])
    base = fitted_base(weights, 2)
    assert base["base"] == pytest.approx(3.0)
    assert base["low"] < 3 < base["high"]
    # Student's interval by hand: three slopes log 3 + (-.1, 0, .1), t = 4.3027.
    assert np.log(base["high"] / base["base"]) == pytest.approx(4.3027 * 0.1 / np.sqrt(3), rel=1e-4)


def test_the_ideal_attention_confuses_nothing_and_uniform_attention_all():
    ideal = jnp.stack([estimators.pseudo_attention(row, 2) for row in TOKENS])
    weights = np.array([0.0, 0.25, 0.75, 0.0, 0.0, 0.0])
    found = {pair.contexts: pair for pair in pairs(weights, ideal, TOKENS, 2)}
    assert len(found) == 6
    assert max(pair.attention for pair in found.values()) == 0
    # Oldest token first: 01 has its one at offset 1, 10 at offset 2.
    assert found["01", "10"].code_distance == pytest.approx(0.5)
    assert found["00", "11"].code_distance == pytest.approx(1.0)
    uniform = jnp.tile(jnp.tril(jnp.ones((24, 24))) / jnp.arange(1, 25)[:, None], (40, 1, 1))
    assert [pair.attention for pair in pairs(weights, uniform, TOKENS, 2)] == pytest.approx([1.0] * 6)
    assert longer_match_ratio(uniform, TOKENS, 2) == pytest.approx(1.0)


def test_the_token_itself_does_not_move_a_code():
    assert weight_beyond(np.array([0.3, 0.2, 0.4, 0.05, 0.0, 0.0]), 2) == pytest.approx(0.1)


def test_attention_that_looks_beyond_the_window_is_told():
    longer = jnp.stack([estimators.pseudo_attention(row, 3) for row in TOKENS])
    shorter = jnp.stack([estimators.pseudo_attention(row, 2) for row in TOKENS])
    assert longer_match_ratio(0.5 * longer + 0.5 * shorter, TOKENS, 2) > 1.5


def test_the_distance_of_uniform_attention_is_that_of_every_entry():
    for found, row in zip(uniform_distances(TOKENS[:2], 2), TOKENS, strict=False):
        ideal = np.asarray(estimators.pseudo_attention(row, 2))
        squares = ((1 / (n + 1) - ideal[n, i]) ** 2 for n in range(24) for i in range(n + 1))
        assert found == pytest.approx(np.sqrt(sum(squares)))


def test_the_contrast_is_attention_on_long_matches_over_the_rest():
    """A mixture of the ideal and uniform attention, by loops over every query and key."""
    order, length = 2, TOKENS.shape[1]
    ideal = np.stack([estimators.pseudo_attention(row, order) for row in TOKENS])
    maps = 0.5 * ideal + 0.5 * np.tri(length) / np.arange(1, length + 1)[:, None]
    mass, even = np.zeros(2), np.zeros(2)
    for weights, row in zip(maps, np.asarray(TOKENS), strict=True):
        for n in range(order, length):
            window = row[n - order + 1 : n + 1]
            matched = np.array([i >= order and (row[i - order : i] == window).all() for i in range(1, n)])
            for long in (0, 1):
                mass[long] += weights[n, 1:n][matched == long].sum()
                even[long] += weights[n, 1:n].sum() * (matched == long).mean()
    expected = mass[1] / even[1] / (mass[0] / even[0])
    assert expected > 1.5
    assert match_contrast(jnp.asarray(maps), TOKENS, order) == pytest.approx(expected, rel=1e-6)


def test_sequences_that_show_nothing_are_passed_over():
    alternating, rare = [0, 1] * 12, [0, 0, 0, 0, 1] * 4 + [0] * 4
    nine, eight = ([1] * run + [0, 1] * 7 + [0] * (10 - run) for run in (9, 8))
    rows = jnp.asarray([[0] * 24, nine, rare, alternating, eight, alternating])
    np.testing.assert_array_equal(telling(rows, 2), rows[3:5])
    assert len(telling(rows, 9)) == 3
