"""Competition Dynamics Shape Algorithmic Phases of In-Context Learning (2025): four predictors compete for a model."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from anyorder.papers.paper import Paper

if TYPE_CHECKING:
    from anyorder.papers.experiment import Experiment
    from anyorder.papers.ledger import Ledger


def _experiments() -> Sequence[Experiment]:
    from anyorder.papers.competition import experiments

    return experiments.phase_map, experiments.architecture


def _ledger() -> Ledger:
    from anyorder.papers.competition import claims
    from anyorder.papers.ledger import Ledger

    return Ledger({"Phases": [claims]}, {}, Path(__file__).with_name("recorded.json"))


PAPER = Paper(
    name="competition",
    title="Competition Dynamics Shape Algorithmic Phases of In-Context Learning",
    reference="Park, Lubana, Pres and Tanaka, ICLR 2025, arXiv 2412.01003",
    about="models trained on N chains retrieve or infer the chain, from unigrams or bigrams, depending on N and "
    "training time",
    experiments=_experiments,
    ledger=_ledger,
    page="competition",
)
