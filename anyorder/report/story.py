"""The page of the demo."""

from __future__ import annotations

from pathlib import Path

from anyorder.experiments.experiment import Result
from anyorder.report.page import Section, write_page, write_parts

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


def write(folder: Path, compared: Result, certified: Result, trained: Result, two_stage: Result) -> Path:
    """The four parts of the story with their files, and the page over them."""
    results = dict(zip(TOLD, (compared, certified, trained, two_stage), strict=True))
    parts = []
    for id, (title, short, how) in TOLD.items():
        captions = write_parts(folder / id, results[id].tables, results[id].figures)
        parts.append(Section(id, title, "", {"In short": short}, results[id].tables, captions, how))
    return write_page(folder, "Any order, in context", LEAD, parts)
