"""Figures of sweeps fit their axes."""

from __future__ import annotations

import dataclasses
import itertools
import json

import pytest

from anyorder.cli.main import parse
from anyorder.report import sweeps as figures
from anyorder.sweeps import table
from anyorder.training import config as configs
from anyorder.training.config import PRESETS
from tests.sweeps.small import made

AXES = {"learning_rate": [1e-3, 3e-3, 1e-2], "order": [1, 2], "length": [16, 32, 64], "batch": [16, 32]}


@pytest.mark.parametrize("count", [1, 2, 3, 4])
def test_figures_fit_the_axes(count, tmp_path, run):
    grid, rows = made(dict(itertools.islice(AXES.items(), count)))
    figure = figures.draw(grid, rows)
    images = [image for panel in figure.axes for image in panel.get_images()]
    assert len(images) == {1: 0, 2: 1, 3: 3, 4: 0}[count]
    if images:
        assert images[0].get_array().shape == ((3, 2) if count == 2 else (2, 3))
    kept = table.SweepFolder(tmp_path / "made", grid)
    kept.rows = {row.run: row for row in rows}
    kept.begin({})
    code, text, _ = run("show", tmp_path / "made", "--json")
    report = json.loads(text)
    assert code == 0
    assert (tmp_path / "made" / "sweep.png").read_bytes()[:4] == b"\x89PNG"
    assert (report["runs"], report["of"], report["diverged"]) == (len(rows), len(rows), 1)
    # The cell of the run that diverged would be the best by its two other seeds.
    best = report["best"][0]
    assert sum(grid.axes[name].index(value) for name, value in best["values"].items()) == 1
    assert best["mean"] == pytest.approx(0.0021)
    settings = parse(report["command"].split()[1:]).settings
    assert settings == dataclasses.replace(configs.changed(PRESETS["floor"], best["values"]), seed=0, seeds=3)
