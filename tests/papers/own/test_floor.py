"""Predictors beside the Bayes floor."""

import math

import jax

from anyorder.papers.own import floor


def test_the_floor_is_below_every_other_predictor_and_the_kgram_is_infinite():
    # In the shape that the ledger compiles.
    scores = floor.compare(jax.random.key(3), order=2, length=33, count=2048).scores
    best = scores[floor.FLOOR].excess.mean
    assert all(best <= other.excess.mean for other in scores.values())
    # Add-half is 0.0947 - 0.0865 above the floor; the k-gram gives zero to 8.6 % of what comes.
    assert abs(scores["add-half (KT)"].excess.mean - best - 0.0082) < 0.001
    assert scores["k-gram"].excess.mean == math.inf
    assert 0.07 < scores["k-gram"].missed.mean < 0.10
