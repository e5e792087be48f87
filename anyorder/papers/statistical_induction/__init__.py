"""The Evolution of Statistical Induction Heads (2024): from uniform to unigram to bigram predictions."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from anyorder.papers.paper import Paper

if TYPE_CHECKING:
    from anyorder.papers.experiment import Experiment
    from anyorder.papers.ledger import Ledger


def _experiments() -> Sequence[Experiment]:
    from anyorder.papers.statistical_induction import experiments

    return experiments.stages, experiments.unigram_free


def _ledger() -> Ledger:
    from anyorder.papers.ledger import Ledger
    from anyorder.papers.statistical_induction import claims

    return Ledger({"Stages of training": [claims]}, {}, Path(__file__).with_name("recorded.json"))


PAPER = Paper(
    name="statistical_induction",
    title="The Evolution of Statistical Induction Heads: In-Context Learning Markov Chains",
    reference="Edelman, Tsilivis, Edelman, Malach and Goel, NeurIPS 2024, arXiv 2402.11004",
    about="training passes from uniform to unigram to bigram predictions, and the unigram delays the bigram",
    experiments=_experiments,
    ledger=_ledger,
    page="statistical-induction",
)
