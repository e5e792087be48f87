"""The page of a run of gradient descent on the reduced model. Its text: descent.html."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
from jaxtyping import Int

from anyorder.io.atomic import Row
from anyorder.papers.two_can.dynamics.lengths import LengthSweep, over_lengths, over_steps
from anyorder.papers.two_can.dynamics.trajectory import Trajectory
from anyorder.report.figures import draw
from anyorder.report.page import as_figure, following, resource, worded, write_page
from anyorder.report.style import write_figure

RUN = "By step: p of each offset, a₂ where it is learned, and the loss next to L*, the Bayes floor and the k-gram."
SWEEP = "Excess loss over L* and the largest error of a probability, against the length, with fitted powers."
#: Offsets that the page shows one by one; larger offsets share one bar.
SHOWN = 12
#: Pictures in the page.
FRAMES = 160


def write_run(
    folder: Path, trajectory: Trajectory, sweep: LengthSweep | None, next_step: str = "anyorder explore"
) -> dict[str, str]:
    """Write the figures of a run and the page with the first layer's attention by step; return the file names."""
    files = {"figure": "run.png", "page": "index.html"}
    write_figure(draw(over_steps(RUN, trajectory)), folder / files["figure"])
    figures = as_figure(folder / files["figure"], RUN)
    if sweep is not None:
        files["sweep_figure"] = "sweep.png"
        write_figure(draw(over_lengths(SWEEP, sweep)), folder / files["sweep_figure"])
        figures += as_figure(folder / files["sweep_figure"], SWEEP)
    data = json.dumps(page_data(trajectory), allow_nan=False).replace("<", "\\u003c")
    row = resource("attention_row.html").replace("/*DATA*/null", data)
    title = f"Attention while it is learned: {trajectory.algorithm}, order {trajectory.order}"
    lead, sections = worded("descent.html", {"row": row, "figures": figures})
    write_page(folder, title, lead, [*sections, following({next_step: "steps through the run, on a sequence"})])
    return files


def page_data(trajectory: Trajectory) -> Row:
    """The data of the page, as JSON: labels, and for every frame the attention row and its numbers."""
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
        "about": f"The attention of the last position on each of the "
        f"{attention.shape[1]} positions; the context of the chain is {context}.",
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
