"""The page of the demo."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import matplotlib

from anyorder.experiments.dynamics import as_trajectory
from anyorder.experiments.experiment import Result
from anyorder.experiments.floor import Comparison
from anyorder.report import dynamics, floor
from anyorder.report.experiments import Drawn
from anyorder.report.maps import Panel, draw_maps
from anyorder.report.page import Section, write_page, write_parts
from anyorder.report.style import STYLE

#: Id of each part → its title, what it shows, and where to go from there.
TOLD = {
    "floor": (
        "What can be known from context",
        "No predictor beats Bayes on average: its excess over the true loss is the floor.",
        "Anew: anyorder reproduce floor",
    ),
    "constructions": (
        "Transformers written down, and certified",
        "Two layers with one head each compute the k-gram; how high k can go is a matter of bits.",
        "Any of them: anyorder verify dyadic --order 10 --alphabet-size 4 --dtype float32",
    ),
    "training": (
        "A transformer that learned it",
        "After a short training, attention of layer 2 moves to the positions that the k-gram counts.",
        "Longer, with several seeds: anyorder train --out run",
    ),
    "two-stage": (
        "How gradient descent finds it",
        "Algorithm 1: first the positional scalar of offset 1 wins, then the attention scalar grows.",
        "With an animation: anyorder dynamics two-stage --out run",
    ),
}
LEAD = (
    "Transformers learn in context by induction heads: attention that finds earlier places with the same last k tokens "
    "and copies what followed. On Markov chains this is the conditional k-gram, so all of it can be checked."
)


def write(
    folder: Path,
    comparisons: Sequence[Comparison],
    compared: Result,
    certified: Result,
    trained: Result,
    two_stage: Result,
) -> Path:
    """The four parts of the story with their files, and the page over them."""
    run = as_trajectory(two_stage, "two-stage", two_stage.tables["run"].rows, 1)
    with matplotlib.rc_context(STYLE):
        curves, steps = floor.draw(comparisons), dynamics.draw_run(run)
    figures = {
        "floor": {"floor": Drawn("Excess loss and distance to the truth, at every position.", curves)},
        "constructions": {},
        "training": {"attention": Drawn("Trained, constructed and ideal attention on one sequence.", maps(trained))},
        "two-stage": {"run": Drawn("Positional scalars, a_2 and loss over the steps of both stages.", steps)},
    }
    results = dict(zip(TOLD, (compared, certified, trained, two_stage), strict=True))
    parts = []
    for id, (title, short, how) in TOLD.items():
        write_parts(folder / id, results[id].tables, figures[id])
        captions = {name: drawn.caption for name, drawn in figures[id].items()}
        parts.append(Section(id, title, "", {"In short": short}, results[id].tables, captions, how))
    return write_page(folder, "Any order, in context", LEAD, parts)


def maps(trained: Result) -> matplotlib.figure.Figure:
    """Both layers of the trained and of the constructed model, and the pseudo-attention map."""
    tokens, arrays = trained.arrays["tokens"], trained.arrays
    grid: list[list[Panel | None]] = [
        [Panel(f"trained, layer {layer}", arrays[f"trained_{layer}"], tokens),
         Panel(f"constructed, layer {layer}", arrays[f"built_{layer}"], tokens)]
        for layer in (1, 2)
    ]  # fmt: skip
    grid[1].append(Panel("pseudo-attention", arrays["ideal"], tokens))
    return draw_maps(grid)
