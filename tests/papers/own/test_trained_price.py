"""Trained models at a price: sizes, the guess by frequency, and the page against the record."""

from __future__ import annotations

import itertools
import json
from pathlib import Path

import jax
import numpy as np
import pytest

from anyorder.constructions import construct
from anyorder.constructions.parameters import count_arrays
from anyorder.papers.experiment import Task
from anyorder.papers.own.trained_price import (
    KINDS,
    Trial,
    accuracy,
    by_frequency,
    chart,
    config,
    judged,
    pays,
    recall,
)
from anyorder.papers.results import folded
from anyorder.training.checks import check_config
from anyorder.training.config import Data
from anyorder.training.initial import initial_model
from anyorder.training.reference import held_out


@pytest.mark.parametrize("kind", KINDS)
def test_models_have_the_parameters_of_their_size_and_pay_what_their_arrays_hold(kind):
    models = {}
    for size in ("1e4", "1e5"):
        asked = config(Task("paper", 5), Trial(kind, size, Data(order=2, length=32)))
        check_config(asked)
        models[size] = initial_model(asked, jax.random.key(0))
        assert 0.8 <= count_arrays(models[size]) / float(size) <= 1.2
    expected = {
        "one-layer attention": 4 * (8 + 2) * 32,
        "two-layer attention": 24,
        "convolution + attention": 3,
        # Four heads: a table of 32 by 12, and two rows of queries, keys and values before the convolution.
        "one-layer Mamba": 4 * (32 * 12 + 2 * (32 + 32 + 12)) * 32,
    }
    assert pays(kind, models["1e4"]) == expected[kind]


def test_a_guess_by_frequency_is_right_as_often_as_counting_says():
    """Two pairs of two values: equal ones are always right, different ones if the smaller is queried."""
    sequences = [
        [*pair, 3, values[asked]]
        for values in itertools.product((1, 2), repeat=2)
        for asked in (0, 1)
        for pair in [[x for place in (0, 1) for x in (3 if place == asked else 0, values[place])]]
    ]
    assert by_frequency(np.array(sequences)) == 0.75


def test_a_certified_model_recalls_everything():
    tokens = np.asarray(held_out(recall(4), 64).tokens)
    model = construct("convolution", order=1, alphabet_size=9, length=recall(4).length)
    assert accuracy(model, tokens) == 1 > by_frequency(tokens)


def recorded():
    root = Path(__file__).parents[3]
    tables = json.loads((root / "results" / "own" / "trained-price.json").read_text(encoding="utf-8"))["tables"]
    return {name: folded(table["rows"]) for name, table in tables.items()}, (root / "docs" / "price.md").read_text(
        "utf-8"
    )


def test_the_page_says_what_is_on_record():
    tables, page = recorded()
    cells, recalls = {}, {}
    for row in tables["chains"]:
        seeds = row["gap"].seeds
        assert len(seeds) == 5
        assert row["verdict"] == judged(seeds)
        assert row["gap_from"] < np.mean(seeds) < row["gap_to"]
        cell = f"| {row['order']}, {row['length']} | {row['size'].replace('1e4', '10⁴').replace('1e5', '10⁵')} |"
        cells.setdefault(cell, []).append(f" {min(seeds):.4f} to {max(seeds):.4f}, {row['verdict']} |")
        paid = [f"{row[name]:,}" for name in ("at_least", "trained", "certified")]
        assert f" {' / '.join(paid)} |" in page
        if row["order"] == 4:
            assert f"{row['gap_from']:.4f} to {row['gap_to']:.4f} for" in page
    lines = page.splitlines()
    for begins, found in cells.items():
        assert any(line.startswith(begins) and all(one in line for one in found) for line in lines), begins
    for row in tables["recall"]:
        seeds = row["accuracy"].seeds
        right = sum(seed >= 0.99 for seed in seeds)
        assert row["solved"] == (right == 5)
        begins = f"| {row['pairs']} | {row['bits']:g} | {row['by_frequency']:.2f} |"
        recalls.setdefault(begins, []).append(f" {min(seeds):.2f} to {max(seeds):.2f}, {right} of 5 |")
    for begins, found in recalls.items():
        assert any(line.startswith(begins) and all(one in line for one in found) for line in lines), begins


def test_the_record_is_drawn():
    tables, _ = recorded()
    gaps, _, answers = chart(tables["chains"], tables["recall"]).charts
    for panel, rows in ((gaps, tables["chains"]), (answers, tables["recall"])):
        points = sum(len(line.x) for line in panel.series if line.label in KINDS)
        assert points == 5 * len(rows)
        assert set(panel.ticks.values()) == set(range(len(panel.ticks)))
