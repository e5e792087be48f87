"""The paper "What One Cannot, Two Can" (NeurIPS 2025)."""

from __future__ import annotations

from typing import TYPE_CHECKING

import lazy_loader

from anyorder.papers.paper import RESULTS, Paper, imported

if TYPE_CHECKING:
    from anyorder.papers.two_can import claims as claims
    from anyorder.papers.two_can import dynamics as dynamics
    from anyorder.papers.two_can import experiments as experiments

__getattr__, __dir__, __all__ = lazy_loader.attach(__name__, submodules=["claims", "dynamics", "experiments"])

PAPER = Paper(
    name="two_can",
    title="What One Cannot, Two Can: Two-Layer Transformers Provably Represent Induction Heads on Any-Order Markov "
    "Chains",
    reference="Ekbote, Makkuva, Bondaschi, Rajaraman, Gastpar, Lee and Liang, NeurIPS 2025",
    about="two layers with one head each compute the k-gram of any order",
    experiments=imported("anyorder.papers.two_can.experiments:EXPERIMENTS"),
    ledger=imported("anyorder.papers.two_can.claims:LEDGER"),
    results=RESULTS / "paper",
    rule=imported("anyorder.papers.two_can.printed:RULE"),
)
