"""Figures of experiments show their data on the named axes."""

import numpy as np
import pytest

from anyorder.papers.figure_data import AttentionMap, Chart, Heat, MapGrid, Plot, Series
from anyorder.report.figures import draw
from anyorder.report.style import Drawing, logarithmic


def test_a_chart_has_its_points_its_axes_and_its_scales():
    measured = Series("measured", [1, 2, 4], [0.5, 0.25, 0.125])
    left = Chart("T", "loss (nats)", [measured, Series("floor", [1, 4], [0.1, 0.1], style="--")], log="xy")
    right = Chart("k", "bits", [Series("bits", [1, 2], [3, 5])], ticks={"one": 1.0, "two": 2.0}, from_zero=True)
    one, other = draw(Plot("A plot.", [left, right])).axes
    assert (one.get_xlabel(), one.get_ylabel(), one.get_xscale(), one.get_yscale()) == (
        "T",
        "loss (nats)",
        "log",
        "log",
    )
    np.testing.assert_array_equal(one.lines[0].get_xydata(), [[1, 0.5], [2, 0.25], [4, 0.125]])
    assert len(one.lines) == 2
    assert [label.get_text() for label in other.get_xticklabels()] == ["one", "two"]
    assert other.get_ylim()[0] == 0
    assert other.get_xscale() == "linear"


@pytest.mark.parametrize(("high", "powers"), [(1000, False), (1e7, True)])
def test_both_axes_are_logarithmic_each_with_its_base_and_one_notation(high, powers):
    panel = Drawing().subplots()
    panel.plot([1, 1024], [0.1, high])
    logarithmic(panel, "xy")
    panel.figure.canvas.draw()
    across, up = (
        [one.get_text() for one in axis.get_ticklabels() if one.get_text()] for axis in (panel.xaxis, panel.yaxis)
    )
    assert {"4", "64", "1024"} <= {*across}
    assert {"10^{0}" in label for label in up} >= {powers}
    assert {"mathdefault" in label for label in up} == {powers}
    assert powers or {"1", "100"} <= {*up}


def test_a_long_legend_makes_a_figure_higher_and_leaves_its_panel_as_it_was():
    heights = []
    for count in (1, 12):
        lines = [Series(f"a long name of the curve number {number}", [0, 1], [0, number]) for number in range(count)]
        figure = draw(Plot("", [Chart("x", "y", lines)], width=4.0))
        figure.draw_without_rendering()
        heights.append(figure.axes[0].get_position().height * figure.get_figheight())
    assert heights[1] > 0.7 * heights[0]


def test_maps_have_one_scale_of_colours():
    grid = [[AttentionMap("first", np.eye(3)), AttentionMap("second", 0.5 * np.eye(3))]]
    images = [image for panel in draw(MapGrid("Maps.", grid)).axes for image in panel.get_images()]
    shown = {tuple(np.ravel(image.get_array())) for image in images}
    assert {tuple(np.eye(3).ravel()), tuple(0.5 * np.eye(3).ravel())} <= shown
    assert len({image.get_clim() for image in images}) == 1


def test_a_difference_has_colours_of_its_own_and_long_axes_name_every_fourth_token():
    tokens = np.arange(20)
    maps = [AttentionMap("head", np.eye(20), tokens), AttentionMap("difference", np.eye(20) - 0.5, tokens)]
    head, difference, _ = draw(MapGrid("Maps.", [maps])).axes
    assert (head.get_images()[0].get_clim(), difference.get_images()[0].get_clim()) == ((0, 1), (-1, 1))
    assert head.get_images()[0].cmap.name == "blues"
    assert difference.get_images()[0].cmap.name == "diverging"
    assert [label.get_text() for label in head.get_xticklabels()] == ["a", "e", "i", "m", "q"]


def test_a_heat_map_names_its_rows_and_columns():
    heat = Heat(
        "Heat.", {"gap": np.array([[0.1, 0.2, 0.3], [0.4, 0.5, 0.6]])}, ("k", ["1", "2"]), ("T", list("abc")), "gap"
    )
    panel = draw(heat).axes[0]
    assert (panel.get_xlabel(), panel.get_ylabel()) == ("T", "k")
    assert [label.get_text() for label in panel.get_xticklabels()] == list("abc")
    assert [label.get_text() for label in panel.get_yticklabels()] == ["1", "2"]
    assert panel.get_images()[0].get_array().shape == (2, 3)
