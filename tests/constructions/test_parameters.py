"""Formulas of the registry and of Table 1 against the arrays of models."""

from __future__ import annotations

import pytest

from anyorder.constructions import CONSTRUCTIONS, construct, parameters
from anyorder.constructions.construction import evaluated
from tests.oracles_constructions import kept

PRINTED_ONLY = {"bigram", "associative", "disentangled"}  # Table 1 counts these by other rules


@pytest.mark.parametrize("name", sorted(set(CONSTRUCTIONS) - PRINTED_ONLY))
def test_formulas_of_the_registry_count_arrays(name):
    k, s, t = 2, 3, 40
    model = construct(name, order=k, alphabet_size=s, length=t)
    entry = CONSTRUCTIONS[name]
    counted = parameters.account(model, t, norm_vectors=entry.norm_vectors)
    assert sum(counted.values()) == evaluated(entry.parameters, d=model.dimension, k=k, S=s, T=t)


@pytest.mark.parametrize("name", sorted(CONSTRUCTIONS))
def test_formulas_of_the_state_count_what_is_kept(name):
    entry = CONSTRUCTIONS[name]
    k, s, t = entry.largest_order or 3, 3, 24
    model = construct(name, order=k, alphabet_size=s, length=t, force=True)
    assert kept(model, t) == evaluated(entry.state, d=model.dimension, k=k, S=s, T=t)


def test_table_one_reports_both_counts_where_two_are_defensible():
    rows = {row.construction: row for row in parameters.table_one(order=2, alphabet_size=3, length=20)}
    wide = 3 + 20
    assert rows["disentangled"].paper == (2 + 9) * wide**2 + 20 * wide
    assert rows["disentangled"].alternative == (2 + 9) * wide**2 + 2 * 3 * wide * 3
    model = construct("disentangled", order=2, alphabet_size=3, length=20)
    assert model.output.size == 2 * 3 * wide * 3  # erratum 12: the output matrix is the tail
    assert model.layers[1].heads[0].key.shape[0] ** 2 + 2 * wide**2 == (2 + 9) * wide**2
    assert rows["bigram"].paper == 21 * 9 + 3 * 20 * 3
    assert rows["associative"].paper == 9 * 256**2 + 256 * (3 + 20)
    assert all(row.stored and row.stored > 0 for row in rows.values())
    assert parameters.table_one(order=16, alphabet_size=2, length=1024)[2].stored is None
