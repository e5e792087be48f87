"""All claims by id, in the order of the paper, and the verdicts on record."""

from __future__ import annotations

import dataclasses
import difflib
import functools
import json
from collections.abc import Iterable
from pathlib import Path
from types import ModuleType
from typing import TypedDict

from anyorder.claims import (
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
from anyorder.claims.entry import Claim, Numbers
from anyorder.claims.errata import ERRATA
from anyorder.errors import InputError

#: Verdict, numbers and seconds of every claim when it was last measured, beside this file.
PATH = Path(__file__).with_name("recorded.json")

_MODULES: dict[str, tuple[ModuleType, ...]] = {
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
}

#: Heading of a part of the ledger → its claims, in the order in which they are written down.
PARTS: dict[str, tuple[Claim, ...]] = {
    heading: tuple(
        dataclasses.replace(value, id=name.replace("_", "-"))
        for module in modules
        for name, value in vars(module).items()
        if isinstance(value, Claim)
    )
    for heading, modules in _MODULES.items()
}

#: Every claim by id.
CLAIMS: dict[str, Claim] = {entry.id: entry for entries in PARTS.values() for entry in entries}


def find(ids: Iterable[str]) -> list[Claim]:
    """The claims of these ids; all of them where none is given.

    An erratum stands for the claim that measures it, and the beginning of several ids for all of them.

    >>> [entry.where for entry in find(["thm-two-layer"])]
    ['Theorem 3, App. B']
    >>> [entry.id for entry in find(["E9", "thm-second-order"])]
    ['eq-recursion', 'thm-second-order-weights', 'thm-second-order-limit']
    >>> find(["tab-dept"])
    Traceback (most recent call last):
    anyorder.errors.InputError: no claim 'tab-dept'; nearest are tab-depth, tab-bits, tab-settings
    """
    wanted = list(ids)
    found = dict.fromkeys(entry for id in wanted for entry in _named(id))
    return [CLAIMS[id] for id in found] if wanted else list(CLAIMS.values())


def _named(id: str) -> list[str]:
    measured_by = {erratum.id: erratum.claim for erratum in ERRATA}
    if id in measured_by or id in CLAIMS:
        return [measured_by.get(id, id)]
    several = [name for name in CLAIMS if name.startswith(f"{id}-")]
    if not several:
        known = {name.lower(): name for name in (*CLAIMS, *measured_by)}
        near = [known[name] for name in difflib.get_close_matches(id.lower(), known, n=3, cutoff=0.4)]
        ways = f"nearest are {', '.join(near)}" if near else "all are in docs/claims.md"
        raise InputError(f"no claim {id!r}; {ways}")
    return several


class RecordedClaim(TypedDict):
    """What a claim came to when it was last measured."""

    verdict: str
    detail: str
    numbers: Numbers
    seconds: float


@functools.cache
def recorded() -> dict[str, RecordedClaim]:
    """What is on record, by id."""
    return json.loads(PATH.read_text(encoding="utf-8"))
