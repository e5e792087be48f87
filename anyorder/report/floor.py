"""The figure of `experiments.floor`: every predictor at every position, one column for each order."""

from __future__ import annotations

from collections.abc import Sequence

import matplotlib
import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from anyorder.estimators import Summary
from anyorder.experiments.floor import Comparison
from anyorder.report.style import COLOURS, STYLE, Drawing


def draw(comparisons: Sequence[Comparison]) -> Figure:
    """Two rows of panels against position, with bands of two standard errors.

    Above, the excess over the true loss of the predictors for which it is finite; below, the distance to the
    true distribution of all.
    """
    with matplotlib.rc_context(STYLE):
        figure = Drawing(figsize=(2.8 * len(comparisons) + 0.6, 5.0))
        rows = figure.subplots(2, len(comparisons), sharex="col", sharey="row", squeeze=False)
        for column, comparison in enumerate(comparisons):
            for index, (name, scores) in enumerate(comparison.scores.items()):
                style = {"color": COLOURS[index], "label": name}
                if np.isfinite(scores.excess.mean):
                    _curve(rows[0, column], comparison, scores.excess, **style)
                _curve(rows[1, column], comparison, scores.distance, **style)
            rows[0, column].set_title(f"order {comparison.order}")
            rows[1, column].set_xlabel("position of the predicted token")
        rows[0, 0].set_ylabel("excess loss (nats)")
        rows[1, 0].set_ylabel("distance to the truth")
        for row in rows:
            row[0].set_ylim(0, None)
        figure.legend(*rows[1, 0].get_legend_handles_labels(), loc="outside lower center", ncols=3)
        return figure


def _curve(panel: Axes, comparison: Comparison, summary: Summary, color: str, label: str) -> None:
    positions = np.arange(comparison.order, comparison.length)
    mean, error = summary.position_mean, summary.position_error
    panel.plot(positions, mean, color=color, label=label, linewidth=1.3)
    panel.fill_between(positions, mean - 2 * error, mean + 2 * error, color=color, alpha=0.2, linewidth=0)
