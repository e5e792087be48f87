"""One layer against two over a grid of settings."""

from anyorder.papers.experiment import Task, of_preset
from anyorder.papers.two_can.experiments.depth import BATCHES, DIMENSIONS, RATES, settings_chart
from anyorder.papers.two_can.sweeps import PAPER_GRID
from anyorder.training.config import Data
from benchmarks.pages.differences import depth_settings


def cell(rate, one, two):
    about = {"preset": "published", "dimension": 32, "batch": 16, "learning_rate": rate}
    return about | {"one_layer": one, "two_layers": two, "difference": one - two}


def test_the_grid_is_that_of_the_paper():
    axes = PAPER_GRID.axes
    assert set(DIMENSIONS) <= set(axes["dimension"])
    assert set(BATCHES) <= set(axes["batch"])
    assert set(RATES) <= set(axes["learning_rate"])
    assert len(DIMENSIONS) * len(BATCHES) * len(RATES) >= 12
    # a batch is two kernels, as in the authors' code
    assert of_preset(Task("paper"), "published", Data()).optimisation.per_kernel == max(BATCHES) // 2


def test_the_paragraph_names_the_nearest_cell_and_the_best_one_layer_model():
    cells = [cell(1e-4, 0.15, 0.11), cell(1e-3, 0.14, 0.15), cell(1e-2, 0.16, 0.12)]
    said = depth_settings({"cells": cells})
    assert "In 2 of 3 cells one layer is above two" in said
    assert "smallest difference is -0.0100, at rate 0.001" in said
    assert "best one-layer model has 0.1400, at rate 0.001" in said
    (panel,) = settings_chart({"cells": cells})["settings"].charts
    assert [list(line.y) for line in panel.series] == [[0.15, 0.14, 0.16], [0.11, 0.15, 0.12]]
