"""The nearest miss over all pairs of contexts, and the margin that scores of models keep."""

from __future__ import annotations

import numpy as np
import pytest

from anyorder.constructions import construct
from anyorder.constructions.certificate import nearest_miss
from anyorder.constructions.hard_sequences import de_bruijn_cycle
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


def second_layer_scores(model, tokens):
    """Scores of the last layer divided by kappa, computed from the traced stream."""
    trace = model.trace(tokens)
    head = model.layers[-1].heads[0]
    last = len(model.layers)
    point = [name for name in trace.points if name.split(".")[0].split()[-1] == str(last - 1)][-1]
    stream = np.asarray(trace.stream(point))
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
