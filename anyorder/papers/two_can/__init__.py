"""The paper "What One Cannot, Two Can" (NeurIPS 2025), which this laboratory is built around."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import lazy_loader

from anyorder.papers.paper import RESULTS, Paper

if TYPE_CHECKING:
    from anyorder.papers.experiment import Experiment
    from anyorder.papers.ledger import Ledger

__getattr__, __dir__, __all__ = lazy_loader.attach(__name__, submodules=["claims", "dynamics", "experiments"])


def _experiments() -> Sequence[Experiment]:
    from anyorder.papers.two_can.experiments import EXPERIMENTS

    return EXPERIMENTS


def _ledger() -> Ledger:
    from anyorder.papers.two_can.claims import LEDGER

    return LEDGER


def _rule() -> str:
    from anyorder.papers.two_can.printed import RULE

    return RULE


def _kinds() -> Sequence[type]:
    from anyorder.papers.two_can import dynamics, figures
    from anyorder.papers.two_can.dynamics.lengths import LengthPoint

    return (
        figures.OverSteps, figures.OverLengths, dynamics.Trajectory, dynamics.TwoStage, dynamics.Preconditioned,
        dynamics.Standings, dynamics.Standing, dynamics.LengthSweep, LengthPoint, dynamics.PowerLaw,
    )  # fmt: skip


PAPER = Paper(
    name="two_can",
    title="What One Cannot, Two Can: Two-Layer Transformers Provably Represent Induction Heads on Any-Order Markov "
    "Chains",
    reference="Ekbote, Makkuva, Bondaschi, Rajaraman, Gastpar, Lee and Liang, NeurIPS 2025",
    about="two layers with one head each compute the k-gram of any order",
    experiments=_experiments,
    ledger=_ledger,
    results=RESULTS / "paper",
    rule=_rule,
    kinds=_kinds,
)
