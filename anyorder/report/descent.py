"""The figures and the page of a run of gradient descent on the reduced model."""

from __future__ import annotations

import importlib.resources
import json
from pathlib import Path

import numpy as np
from jaxtyping import Int
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from anyorder.io.atomic import Row
from anyorder.papers.two_can.dynamics.lengths import LengthSweep
from anyorder.papers.two_can.dynamics.reduced import EXCLUDED
from anyorder.papers.two_can.dynamics.trajectory import Trajectory
from anyorder.report.page import Section, as_figure, following, write_page
from anyorder.report.style import COLOURS, FLOOR, Drawing, logarithmic, styled, write_figure

LEAD = (
    "Gradient descent on the reduced two-layer model: a number p for every offset says how much layer 1 looks that far "
    "back, and a number a₂ how sharply layer 2 compares. Losses are in nats per token: natural units of information."
)
SYMBOLS = {
    "a₂": "how sharply layer 2 compares: at 0 it averages over all positions, at ∞ it takes exact matches only",
    "L*": "the loss of the true transition probabilities, which no one knows before reading the sequence",
    "Bayes floor": "the least loss of a predictor that must learn the chain from the sequence",
}
RUN = "By step: p of each offset, a₂ where it is learned, and the loss next to L*, the Bayes floor and the k-gram."
SWEEP = "Excess loss over L* and the largest error of a probability, against the length, with fitted powers."
#: Offsets that the page shows one by one; larger offsets share one bar.
SHOWN = 12
#: Pictures in the page.
FRAMES = 160


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
        dashes = "-" if index == 0 else (0, (4, 2 + 2 * index))  # equal curves lie on top of each other
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


def write_run(
    folder: Path, trajectory: Trajectory, sweep: LengthSweep | None, next_step: str = "anyorder explore"
) -> dict[str, str]:
    """The figures of a run, and the page with them and the first layer's attention by step; names of the files."""
    files = {"figure": "run.png", "page": "index.html"}
    write_figure(draw_run(trajectory), folder / files["figure"])
    figures = as_figure(folder / files["figure"], RUN)
    if sweep is not None:
        files["sweep_figure"] = "sweep.png"
        write_figure(draw_sweep(sweep), folder / files["sweep_figure"])
        figures += as_figure(folder / files["sweep_figure"], SWEEP)
    template = importlib.resources.files("anyorder.report").joinpath("attention_row.html").read_text(encoding="utf-8")
    data = json.dumps(page_data(trajectory), allow_nan=False).replace("<", "\\u003c")
    row = template.replace("/*DATA*/null", data)
    title = f"Attention while it is learned: {trajectory.algorithm}, order {trajectory.order}"
    sections = [
        Section("attention", "Attention of the first layer", "", SYMBOLS, {}, {}, "", body=row),
        Section("run", "The run", "", {}, {}, {}, "", body=figures),
        following({next_step: "steps through the run, on a sequence"}),
    ]
    write_page(folder, title, LEAD, sections)
    return files


def page_data(trajectory: Trajectory) -> Row:
    """The data of the page, as JSON: labels, and for every frame the row and the numbers beside it."""
    attention = trajectory.attention
    shown = min(SHOWN, attention.shape[1])
    rest = attention.shape[1] > shown
    floor = trajectory.floor
    context = "offset 1" if trajectory.order == 1 else f"offsets 1 to {trajectory.order}"
    frames = []
    for state in _frames(len(attention)).tolist():
        row = attention[state, :shown].tolist() + ([float(attention[state, shown:].sum())] if rest else [])
        facts = {"step": f"{state} of {len(attention) - 1}", "a₂": f"{trajectory.a_2[state]:.3g}"}
        if state > 0:
            facts["loss of the last step"] = f"{trajectory.loss[state - 1]:.3f} nats"
        facts["L*"] = f"{trajectory.true_loss:.3f} nats"
        facts["Bayes floor"] = "not known for this prior" if floor is None else f"{floor:.3f} nats"
        frames.append({"step": state, "row": [round(value, 6) for value in row], "facts": facts})
    return {
        "about": f"The share of its attention that the last position gives to each of the "
        f"{attention.shape[1]} positions; the chain's own context is {context}.",
        "order": trajectory.order,
        "labels": [str(offset) for offset in range(shown)] + ([f"{shown}+"] if rest else []),
        "frames": frames,
    }


def _frames(states: int) -> Int[np.ndarray, "frames"]:
    """States to show: all of them, or evenly spaced in the logarithm and in the step together."""
    if states <= FRAMES:
        return np.arange(states)
    early = np.geomspace(1, states, FRAMES // 2) - 1
    return np.unique(np.concatenate([early, np.linspace(0, states - 1, FRAMES // 2)]).astype(np.int64))
