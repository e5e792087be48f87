"""The ledger of the paper: its parts in the order of the paper."""

from __future__ import annotations

from importlib import import_module
from pathlib import Path

from anyorder.papers.ledger import Ledger, read_errata

#: Heading → the modules with its claims.
_PARTS = {
    "Definitions (Sec. 2 and 3)": ("definitions",),
    "Constructions (Theorems 1 to 3)": ("constructions",),
    "Steps of their proofs (Sec. 4, App. A and B)": ("proofs", "matrices"),
    "Parameters (Table 1, App. I)": ("parameters",),
    "Gradient descent, first order (Sec. 5, App. C)": ("gradient", "first_order_model", "convergence"),
    "Lemmas of the first order (App. C, E and G)": ("stages", "lemmas"),
    "Assumptions and lemmas of higher orders (App. D and F)": ("higher_order", "spectral"),
    "Gradient descent, higher order (App. D)": ("preconditioned", "bags"),
    "Trained models (Fig. 2, App. H)": ("experiments",),
    "Our own statements": ("ours",),
}
LEDGER = Ledger(
    {heading: [import_module(f"{__package__}.{name}") for name in names] for heading, names in _PARTS.items()},
    read_errata(Path(__file__).parents[1] / "errata.toml"),
    Path(__file__).with_name("recorded.json"),
)
PARTS, CLAIMS, find, recorded = LEDGER.parts, LEDGER.claims, LEDGER.find, LEDGER.recorded
