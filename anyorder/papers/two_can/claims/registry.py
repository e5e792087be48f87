"""The ledger of the paper: its parts in the order of the paper."""

from __future__ import annotations

from pathlib import Path

from anyorder.papers.ledger import Ledger
from anyorder.papers.two_can.claims import (
    bags,
    constructions,
    convergence,
    definitions,
    experiments,
    gradient,
    higher_order,
    lemmas,
    matrices,
    ours,
    parameters,
    preconditioned,
    proofs,
    spectral,
    stages,
)

#: Which claim measures an erratum of docs/errata.md.
ERRATA = {
    "E1": "def-transformer", "E2": "eq-gate", "E3": "eq-index-set", "E4": "eq-mlp-matrices",
    "E6": "tab-breakdown-three-layer", "E7": "thm-two-layer-variants", "E8": "thm-second-order-limit",
    "E9": "eq-recursion", "E10": "claim-temperature", "E12": "tab-one-nichani", "E15": "asm-any-order",
    "E16": "asm-any-order", "E17": "eq-return-count", "E18": "eq-projections", "E19": "rem-parameters-qk",
    "E21": "eq-g-second-order", "E23": "lem-covariance", "E24": "lem-G2-first", "E25": "asm-second-order",
    "E26": "eq-projections", "E27": "eq-mlp-matrices", "E28": "eq-start", "E29": "lem-second-order-gap",
    "E30": "lem-second-order", "E31": "eq-score", "E32": "eq-g-positive", "E33": "lem-spectral",
    "E34": "def-induction-head", "E35": "asm-model", "E36": "eq-optimal-loss", "E37": "eq-taylor",
    "E38": "eq-stage-one", "E39": "eq-query", "E40": "eq-higher-query", "E41": "eq-g-any-order", "E42": "lem-D3",
    "E43": "lem-G2-first", "E44": "def-transformer", "E45": "eq-gradient",
}  # fmt: skip

LEDGER = Ledger(
    {
        "Definitions (Sec. 2 and 3)": (definitions,),
        "Constructions (Theorems 1 to 3)": (constructions,),
        "Steps of their proofs (Sec. 4, App. A and B)": (proofs, matrices),
        "Parameters (Table 1, App. I)": (parameters,),
        "Gradient descent, first order (Sec. 5, App. C)": (gradient, convergence),
        "Lemmas of the first order (App. C, E and G)": (stages, lemmas),
        "Assumptions and lemmas of higher orders (App. D and F)": (higher_order, spectral),
        "Gradient descent, higher order (App. D)": (preconditioned, bags),
        "Trained models (Fig. 2, App. H)": (experiments,),
        "Our own statements": (ours,),
    },
    ERRATA,
    Path(__file__).with_name("recorded.json"),
)
PARTS, CLAIMS, find, recorded = LEDGER.parts, LEDGER.claims, LEDGER.find, LEDGER.recorded
