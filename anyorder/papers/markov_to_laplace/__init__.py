"""From Markov to Laplace (2025): one layer of Mamba learns add-β smoothing, and its convolution is the reason."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from anyorder.papers.paper import Paper

if TYPE_CHECKING:
    from anyorder.papers.experiment import Experiment
    from anyorder.papers.ledger import Ledger


def _experiments() -> Sequence[Experiment]:
    from anyorder.papers.markov_to_laplace import experiments

    return experiments.window, experiments.beta


def _ledger() -> Ledger:
    from anyorder.papers.ledger import Ledger
    from anyorder.papers.markov_to_laplace import claims

    return Ledger({"One layer of Mamba": [claims]}, {}, Path(__file__).with_name("recorded.json"))


PAPER = Paper(
    name="markov_to_laplace",
    title="From Markov to Laplace: How Mamba In-Context Learns Markov Chains",
    reference="Bondaschi, Rajaraman, Wei, Ramchandran, Pascanu, Gulcehre, Gastpar and Makkuva, 2025, arXiv 2502.10178",
    about="one layer of Mamba learns add-β smoothing at every order, if its convolution sees k + 1 tokens",
    experiments=_experiments,
    ledger=_ledger,
    page="markov-to-laplace",
)
