"""The runs of a sweep, and refusals."""

from __future__ import annotations

import dataclasses
import itertools

import numpy as np
import pytest

from anyorder.errors import InputError
from anyorder.sweeps import spec
from anyorder.training import config as configs
from anyorder.training.config import structure
from tests.sweeps.small import GRID, TINY, TOML


def test_a_file_is_a_sweep(tmp_path):
    (tmp_path / "tiny.toml").write_text(TOML)
    assert spec.read_toml(tmp_path / "tiny.toml") == GRID
    runs = spec.runs(GRID)
    assert [run.number for run in runs] == list(range(12))
    expected = itertools.product([1e-3, 1e-2, 1e38], [0.0, 1e-2], [0, 1])
    for one, (rate, decay, seed) in zip(runs, expected, strict=True):
        settings = one.config.optimisation
        assert (settings.learning_rate, settings.weight_decay, one.config.seed) == ((rate,), decay, seed)
        assert dataclasses.replace(one.config, seed=0, optimisation=TINY.optimisation) == TINY


@pytest.mark.parametrize(
    ("given", "values"),
    [
        ({"from": 8, "to": 70, "factor": 2}, (8, 16, 32, 64)),
        ({"from": 0, "to": 100, "step": 25}, (0, 25, 50, 75, 100)),
        ([3, 1], (3, 1)),
    ],
)
def test_ranges(given, values):
    assert spec.sweep("s", TINY, {"warmup": given}).axes["warmup"] == values


def test_ranges_of_real_numbers_have_round_values():
    axes = {
        "learning_rate": {"from": 1e-4, "to": 1e-2, "count": 5, "log": True},
        "token_noise": {"from": 0.0, "to": 0.3, "step": 0.1},
        "heads": [[1, 2], 1],
    }
    base = configs.changed(TINY, {"layers": 2, "transition_noise": 0.0})
    grid = spec.sweep("s", base, axes, metric="excess")
    np.testing.assert_allclose(grid.axes["learning_rate"], [10 ** (-4 + j / 2) for j in range(5)], rtol=1e-10)
    assert grid.axes["token_noise"] == (0.0, 0.1, 0.2, 0.3)
    assert [run.config.architecture.heads for run in spec.runs(grid)[:2]] == [(1, 2), (1,)]


def test_numbers_share_a_shape_and_shapes_do_not():
    numbers = {"learning_rate": [1e-3, 1e-2], "beta1": [0.8, 0.9], "beta2": [0.9, 0.99], "weight_decay": [0.0, 0.1],
               "clip": [0.0, 1.0], "token_noise": [0.1, 0.2], "warmup": [1, 2]}  # fmt: skip
    grid = spec.sweep("s", TINY, numbers, seeds=2, metric="excess")
    assert [len(group) for group in spec.shapes(spec.runs(grid))] == [256]
    shapes = {"order": [1, 2], "length": [6, 7], "dimension": [4, 8], "batch": [4, 8], "mlp": ["none", "gpt2"]}
    assert len(spec.shapes(spec.runs(spec.sweep("s", TINY, shapes, seeds=2)))) == 32


def test_chunks_hold_every_run_once_and_one_shape_each():
    runs = spec.runs(spec.sweep("s", TINY, {"order": [1, 2, 3], "weight_decay": [0.0, 0.1]}, seeds=5))
    for workers, most in ((1, 4), (2, 64), (100, 64)):
        pieces = spec.chunks(runs, workers, most)
        assert sorted(run.number for piece in pieces for run in piece) == list(range(30))
        assert all(len({structure(run.config) for run in piece}) == 1 for piece in pieces)
        assert max(map(len, pieces)) <= most
        assert len(pieces) >= min(4 * workers, 30 if most > 10 else 0)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("axis = 1", "bad.toml has the unknown field 'axis'; did you mean axes?"),
        ("axes = 1", "bad.toml has axes = 1, must be a table: [axes]"),
        (
            "seeds = 1000000000\n[axes]\norder=[1]",
            "the sweep bad has seeds 1000000000, must be a number from 1 to 1000000",
        ),
        ("seeds = 0\n[axes]\norder=[1]", "the sweep bad has seeds 0, must be a number from 1 to 1000000 or a list"),
        ('metric = "speed"\n[axes]\norder=[1]', "the sweep bad has the metric 'speed', must be one of gap, excess,"),
        ("[set]\nordr = 1", "bad.toml has the unknown field 'ordr'; did you mean order?"),
        ("[set]\nlearning_rate = [1e-3, 1e-2]\n[axes]\norder=[1]", "has several learning rates in one run"),
        ("preset = 'best'", "no preset 'best'; choose from floor,"),
        ("name = ", "bad.toml is not TOML: Invalid value"),
        ("", "the sweep bad has no axes; give at least one list under [axes]"),
    ],
)
def test_bad_files_are_one_line(text, words, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "bad.toml").write_text(text)
    with pytest.raises(InputError) as error:
        spec.read_toml("bad.toml")
    assert words in str(error.value)
    assert "\n" not in str(error.value)
