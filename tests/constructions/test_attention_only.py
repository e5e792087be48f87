"""Attention alone: its margin over all pairs of contexts, and unseen contexts."""

import numpy as np
import pytest

from anyorder.constructions import construct
from tests import oracles_constructions as oracles
from tests.oracles_constructions import codes


def test_an_unseen_context_falls_back_to_the_longest_suffix():
    """The most recent token weighs most in `attention-only`: the nearest code agrees in the longest suffix."""
    order, symbols, length = 4, 3, 60
    model = construct("attention-only", order=order, alphabet_size=symbols, length=length)
    checked = 0
    for seed in range(3):
        tokens = np.random.default_rng(seed).integers(0, symbols, length).tolist()
        weights = np.asarray(model.trace(tokens).attention[1])[0]
        for n in np.flatnonzero(np.isnan(oracles.kgram(tokens, order, symbols)[:, 0])):
            if n < order:
                continue
            agreed = [
                next((j for j in range(order) if tokens[i - 1 - j] != tokens[n - j]), order)
                for i in range(order, n + 1)
            ]
            chosen = int(np.argmax(weights[n]))
            assert agreed[chosen - order] == max(agreed)
            checked += 1
    assert checked > 30


@pytest.mark.parametrize(("symbols", "longest"), [(2, 7), (3, 5), (4, 4)])
def test_attention_only_margin_bounds_all_pairs_and_stray_tokens(symbols, longest):
    for order in range(1, longest + 1):
        keys = np.array(list(codes(symbols, order, 3)))
        directions = keys / np.linalg.norm(keys, axis=1, keepdims=True)
        smallest = np.inf
        for stray in range(symbols):
            queries = 3 * keys + np.eye(symbols)[stray]
            cosines = queries / np.linalg.norm(queries, axis=1, keepdims=True) @ directions.T
            gaps = np.diag(cosines)[:, None] - cosines
            np.fill_diagonal(gaps, np.inf)
            smallest = min(smallest, gaps.min())
        promised = construct("attention-only", order=order, alphabet_size=symbols, length=99).certificate.margin
        assert promised <= smallest
        assert order < 4 or smallest < 1.2 * promised  # and it is not far below
