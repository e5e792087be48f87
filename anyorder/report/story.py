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
from anyorder.report.page import Section, write_page, write_section
from anyorder.report.style import STYLE

LEAD = (
    "Transformers learn in context by induction heads: attention that finds earlier places with the same last k tokens "
    "and copies what followed. On Markov chains this is the conditional k-gram, so all of it can be checked."
)


def sections(
    comparisons: Sequence[Comparison], compared: Result, certified: Result, trained: Result, two_stage: Result
) -> list[Section]:
    """The four parts of the story."""
    run = as_trajectory(two_stage, "two-stage", two_stage.tables["run"].rows, 1)
    with matplotlib.rc_context(STYLE):
        curves, steps = floor.draw(comparisons), dynamics.draw_run(run)
    return [
        Section(
            "floor",
            "What can be known from context",
            "",
            {"In short": "No predictor beats Bayes on average: its excess over the true loss is the floor."},
            compared.tables,
            {"floor": Drawn("Excess loss and distance to the truth of every predictor at every position.", curves)},
            "Anew: anyorder reproduce floor",
        ),
        Section(
            "constructions",
            "Transformers written down, and certified",
            "",
            {"In short": "Two layers with one head each compute the k-gram; how high k can go is a matter of bits."},
            certified.tables,
            {},
            "Any of them: anyorder verify dyadic --order 10 --alphabet-size 4 --dtype float32",
        ),
        Section(
            "training",
            "A transformer that learned it",
            "",
            {"In short": "After a short training, attention of layer 2 moves to the positions that the k-gram counts."},
            trained.tables,
            {"attention": Drawn("Trained, constructed and ideal attention on the same sequence.", maps(trained))},
            "Longer, with several seeds: anyorder train --out run",
        ),
        Section(
            "two-stage",
            "How gradient descent finds it",
            "",
            {"In short": "Algorithm 1: first the positional scalar of offset 1 wins, then the attention scalar grows."},
            two_stage.tables,
            {"run": Drawn("Positional scalars, a_2 and loss over the steps of both stages.", steps)},
            "With an animation: anyorder dynamics two-stage --out run",
        ),
    ]


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


def write(folder: Path, parts: Sequence[Section]) -> Path:
    """All files of the parts, and the page over them."""
    for part in parts:
        write_section(folder / part.id, part)
    return write_page(folder, "Any order, in context", LEAD, parts)
