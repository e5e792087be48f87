"""The figures of a run of gradient descent on the reduced model, and of runs at several lengths."""

from __future__ import annotations

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from anyorder.papers.two_can.dynamics.lengths import LengthSweep
from anyorder.papers.two_can.dynamics.reduced import EXCLUDED
from anyorder.papers.two_can.dynamics.trajectory import Trajectory
from anyorder.report.style import COLOURS, FLOOR, Drawing, logarithmic, styled


@styled
def draw_run(trajectory: Trajectory) -> Figure:
    """p by step, a_2 by step (where it is learned), and the loss against L*, the floor and the k-gram."""
    learns_a_2 = bool(np.ptp(trajectory.a_2) > 0)
    figure = Drawing(figsize=(4.6, 6.6 if learns_a_2 else 5.0))
    panels = figure.subplots(3 if learns_a_2 else 2, 1, sharex=True)
    _draw_p(panels[0], trajectory)
    if learns_a_2:
        panels[1].plot(trajectory.a_2, color=COLOURS[0])
        panels[1].set_ylabel("$a_2$")
    _draw_loss(panels[-1], trajectory)
    for panel in panels if learns_a_2 else []:
        panel.axvline(trajectory.stage_one_steps, color="0.8", linewidth=1.0, zorder=0)
    panels[-1].set_xlabel("step" + (" (the line divides the stages)" if learns_a_2 else ""))
    return figure


def _draw_p(panel: Axes, trajectory: Trajectory) -> None:
    p, order = trajectory.p, trajectory.order
    inside = range(1, order + 1)
    others = [offset for offset in range(p.shape[1]) if offset not in inside and p[0, offset] > EXCLUDED / 2]
    low, high = p[:, others].min(axis=1), p[:, others].max(axis=1)
    panel.fill_between(np.arange(len(p)), low, high, color="0.75", linewidth=0, label="all others")
    for index, offset in enumerate(inside):
        dashes = "-" if index == 0 else (0, (4, 2 + 2 * index))  # equal curves overlap
        panel.plot(p[:, offset], color=COLOURS[index % len(COLOURS)], linestyle=dashes, label=f"$p_{{{offset}}}$")
    panel.set_ylabel("positional scalars")
    panel.legend(loc="lower left", bbox_to_anchor=(0, 1), ncols=6)


def _draw_loss(panel: Axes, trajectory: Trajectory) -> None:
    panel.plot(np.arange(1, len(trajectory.loss) + 1), trajectory.loss, color=COLOURS[0], linewidth=0.8, label="loss")
    true = trajectory.true_loss
    panel.axhline(true, color="0.5", linestyle=":", label="$L^*$")
    if trajectory.floor is not None:
        panel.axhline(trajectory.floor, **FLOOR)
    drawn = {"learned", "Bayes"}  # the curve itself, and the floor
    others = [name for name in trajectory.evaluation.standings if name not in drawn]
    for colour, name in zip(COLOURS[1:], others, strict=False):
        level = true + trajectory.evaluation.standings[name].excess
        panel.axhline(level, color=colour, linestyle="-.", linewidth=1.0, label=name.replace("a_2", "$a_2$"))
    panel.set_ylabel("loss (nats)")
    panel.legend(loc="lower left", bbox_to_anchor=(0, 1), ncols=3)


@styled
def draw_sweep(sweep: LengthSweep) -> Figure:
    """Excess loss and sup-norm error against T + 1, with the fitted power laws, the k-gram and the Bayes floor."""
    points = sweep.points
    across = np.array([point.length + 1 for point in points])
    panels_of = {"excess": "excess loss (nats)", "generalisation": "mean sup-norm error"}
    figure = Drawing(figsize=(6.4, 3.4))
    for panel, (measured, label) in zip(figure.subplots(1, 2), panels_of.items(), strict=True):
        values = [getattr(point.learned, measured) for point in points]
        errors = [2 * getattr(point.learned, f"{measured}_error") for point in points]
        panel.errorbar(across, values, errors, fmt="o", markersize=4, color=COLOURS[0], label="learned")
        law = getattr(sweep, measured)
        fitted = f"$T^{{{law.exponent:.2f} \\pm {law.standard_error:.2f}}}$"
        panel.plot(across, law.factor * across**law.exponent, color=COLOURS[0], linewidth=1.0, label=fitted)
        kgram = [getattr(point.kgram, measured) for point in points]
        panel.plot(across, kgram, "s-.", markersize=3, color=COLOURS[1], linewidth=1.0, label="k-gram")
        floors = [getattr(point.bayes, measured) for point in points if point.bayes is not None]
        if len(floors) == len(across):
            panel.plot(across, floors, **FLOOR)
        logarithmic(panel, "xy")
        panel.set(xlabel="T + 1", ylabel=label)
        panel.legend()
    return figure
