"""The ledger of the paper: its parts in the order of the paper."""

from __future__ import annotations

from pathlib import Path

from anyorder.papers.erratum import read_errata
from anyorder.papers.ledger import Ledger
from anyorder.papers.two_can.claims import (
    bags,
    constructions,
    convergence,
    definitions,
    experiments,
    first_order_model,
    gradient,
    higher_order,
    lemmas,
    matrices,
    ours,
    parameters,
    perturbation,
    preconditioned,
    proofs,
    spectral,
    stages,
)

ERRATA = read_errata(Path(__file__).parents[1] / "errata.toml")
LEDGER = Ledger(
    {
        "Definitions (Sec. 2 and 3)": (definitions,),
        "Constructions (Theorems 1 to 3)": (constructions,),
        "Steps of their proofs (Sec. 4, App. A and B)": (proofs, matrices),
        "Parameters (Table 1, App. I)": (parameters,),
        "Gradient descent, first order (Sec. 5, App. C)": (gradient, first_order_model, convergence),
        "Lemmas of the first order (App. C, E and G)": (stages, lemmas),
        "Assumptions and lemmas of higher orders (App. D and F)": (higher_order, spectral),
        "Gradient descent, higher order (App. D)": (preconditioned, bags),
        "Trained models (Fig. 2, App. H)": (experiments, perturbation),
        "Our own statements": (ours,),
    },
    ERRATA,
    Path(__file__).with_name("recorded.json"),
)
PARTS, CLAIMS, find, recorded = LEDGER.parts, LEDGER.claims, LEDGER.find, LEDGER.recorded
