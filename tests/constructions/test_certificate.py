"""The nearest miss over all pairs of contexts, and the margin that scores of models keep."""

from __future__ import annotations

import dataclasses
import itertools

import numpy as np
import pytest

from anyorder.constructions import CONSTRUCTIONS, construct
from anyorder.constructions.certificate import (
    DERIVED,
    EXTRAPOLATED,
    Analysis,
    Request,
    certify,
    nearest_miss,
    unit_roundoff,
)
from anyorder.constructions.hard_sequences import de_bruijn_cycle
from anyorder.models.arithmetic import stored
from tests.oracles_constructions import codes, unit


@pytest.mark.parametrize("base", [2, 3])
@pytest.mark.parametrize(("symbols", "longest"), [(2, 8), (3, 5), (4, 4)])
def test_nearest_miss_is_the_minimum_over_all_pairs(base, symbols, longest):
    for order in range(1, longest + 1):
        directions = np.array([unit(code) for code in codes(symbols, order, base)])
        gaps = 1 - directions @ directions.T
        np.fill_diagonal(gaps, np.inf)
        total = sum(base**place for place in range(order))
        assert gaps.min() == pytest.approx(nearest_miss(total), rel=1e-6)


def last_stream(trace):
    """The input of the last layer."""
    last = len(trace.attention)
    return trace.stream([name for name in trace.points if name.split(".")[0].split()[-1] == str(last - 1)][-1])


def second_layer_scores(model, tokens):
    """Scores of the last layer divided by kappa, computed from the traced stream."""
    head = model.layers[-1].heads[0]
    stream = np.asarray(last_stream(model.trace(tokens)))
    queries, keys = stream @ np.asarray(head.query).T, stream @ np.asarray(head.key).T
    if head.normalise:
        queries, keys = (np.array([unit(row) for row in rows]) for rows in (queries, keys))
    return float(head.scale) * queries @ keys.T / model.certificate.kappa


EXACT = ["two-layer", "two-head", "three-layer", "dyadic", "attention-only", "k-head", "disentangled"]


@pytest.mark.parametrize(("symbols", "order"), [(2, 3), (3, 2)])
@pytest.mark.parametrize("name", EXACT)
def test_scores_of_the_model_keep_the_margin(name, symbols, order):
    cycle = de_bruijn_cycle(symbols, order)
    tokens = np.resize(cycle, 3 * len(cycle) + 2 * order)
    model = construct(name, order=order, alphabet_size=symbols, length=len(tokens))
    scores = second_layer_scores(model, tokens)
    window = {n: tuple(tokens[n - order + 1 : n + 1]) for n in range(order - 1, len(tokens))}
    gaps = []
    for n in range(len(cycle) + order, len(tokens)):
        matches = [scores[n, i] for i in range(order, n + 1) if window[i - 1] == window[n]]
        misses = [scores[n, i] for i in range(n + 1) if i < order or window[i - 1] != window[n]]
        assert max(matches) - min(matches) < 1e-11 * max(1.0, abs(max(matches)))
        gaps.append(min(matches) - max(misses))
    assert min(gaps) >= model.certificate.margin * (1 - 1e-6)
    if name in ("two-layer", "dyadic", "k-head"):  # the closed forms are attained
        assert min(gaps) == pytest.approx(model.certificate.margin, rel=1e-6)


def test_other_weights_than_powers_of_two_can_have_a_larger_margin():
    for weights, better in (((1, 2), (4, 7)), ((1, 2, 4), (5, 9, 17)), ((1, 2, 4, 8), (3, 6, 11, 22))):
        gaps = []
        for chosen in (weights, better):
            words = itertools.product(range(2), repeat=len(chosen))
            rows = np.array([unit(np.bincount(word, weights=chosen, minlength=2)) for word in words])
            gaps.append(np.sort(1 - (rows @ rows.T)[np.triu_indices(len(rows), 1)])[0])
        assert gaps[0] == pytest.approx(nearest_miss(sum(weights)))
        assert gaps[1] > 1.09 * gaps[0]


SLOW = ("attention-only", "two-head", "three-layer", "two-layer-qk", "two-head-qk")
ROUNDED = ["dyadic", "two-layer", *(pytest.param(name, marks=pytest.mark.slow) for name in SLOW)]


@pytest.mark.slow
@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
@pytest.mark.parametrize("name", ROUNDED)
def test_scores_of_all_windows_round_by_no_more_than_the_measured_units(name, dtype):
    kappa, u = 1.3, unit_roundoff(dtype)  # a number that is itself rounded
    for symbols, order in ((2, 1), (2, 2), (2, 3), (3, 2), (3, 3)):
        tokens = np.resize(de_bruijn_cycle(symbols, order), 2 * symbols**order + 2 * order)
        model = construct(
            name, order=order, alphabet_size=symbols, length=len(tokens), dtype=dtype, kappa=kappa, force=True
        )
        queries, keys = model.layers[-1].heads[0].sides(last_stream(model.trace(tokens)))
        scores = np.asarray(stored(queries @ keys.T), np.float64) / kappa
        window = {n: tuple(tokens[n - order + 1 : n + 1]) for n in range(order - 1, len(tokens))}
        lost, spread = [], []
        for n in range(symbols**order + order, len(tokens)):
            matches, misses = (
                [scores[n, i] for i in range(order, n + 1) if (window[i - 1] == window[n]) is same]
                for same in (True, False)
            )
            lost.append(model.certificate.margin - min(matches) + max(misses))
            spread.append(max(matches) - min(matches))
        analysis = CONSTRUCTIONS[name].analyse(Request(order, symbols, len(tokens), dtype, 0.05))
        miss_units, match_units = analysis.measured
        assert max(lost) <= miss_units * u
        assert max(spread) <= match_units * u
        assert miss_units <= analysis.miss_units
        assert match_units <= analysis.match_units


def test_a_certificate_says_whether_its_rounding_is_derived():
    request = Request(order=4, alphabet_size=2, length=64, dtype="float32", target_error=1e-5)
    few, many = (Analysis(margin=1e-2, miss_units=units, measured=(6.0, 0.0)) for units in (8.0, 1e5))
    assert certify("dyadic", request, few).rounding == DERIVED
    extrapolated = certify("dyadic", request, many)
    assert extrapolated.rounding == EXTRAPOLATED
    assert extrapolated.bound == certify("dyadic", request, dataclasses.replace(many, miss_units=6.0)).bound
    orders = {order: construct("dyadic", order=order, alphabet_size=4, length=64, dtype="float32") for order in (8, 10)}
    assert [orders[order].certificate.rounding for order in (8, 10)] == [DERIVED, EXTRAPOLATED]
