"""All claims by id, in the order of the paper, and the verdicts on record."""

from __future__ import annotations

import dataclasses
import difflib
import functools
import importlib
import itertools
from collections.abc import Iterable
from pathlib import Path

from anyorder.claims.entry import Claim, Finding, Verdict
from anyorder.errors import InputError
from anyorder.files import read_json

#: The finding of every claim when it was last measured, beside this file.
PATH = Path(__file__).with_name("recorded.json")
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

_MODULES = {
    "Definitions (Sec. 2 and 3)": ("definitions",),
    "Constructions (Theorems 1 to 3)": ("constructions",),
    "Steps of their proofs (Sec. 4, App. A and B)": ("proofs", "matrices"),
    "Parameters (Table 1, App. I)": ("parameters",),
    "Gradient descent, first order (Sec. 5, App. C)": ("gradient", "convergence"),
    "Lemmas of the first order (App. C, E and G)": ("stages", "lemmas"),
    "Assumptions and lemmas of higher orders (App. D and F)": ("higher_order", "spectral"),
    "Gradient descent, higher order (App. D)": ("preconditioned", "bags"),
    "Trained models (Fig. 2, App. H)": ("experiments",),
    "Our own statements": ("ours",),
}
#: The same headings → what is written down there: claims that do not know their ids, nor all that they go with.
_WRITTEN: dict[str, dict[str, Claim]] = {
    heading: {
        name.replace("_", "-"): value
        for module in modules
        for name, value in vars(importlib.import_module(f"anyorder.claims.{module}")).items()
        if isinstance(value, Claim)
    }
    for heading, modules in _MODULES.items()
}


def _finished(id: str, entry: Claim) -> Claim:
    """With its id, and with the entries that name it among those to see; what needs an experiment is not quick."""
    others = [item for part in _WRITTEN.values() for item in part.items()]
    naming = [name for name, other in others if id in other.see and name not in entry.see]
    return dataclasses.replace(entry, id=id, see=(*entry.see, *naming), quick=entry.quick and not entry.experiments)


#: Heading of a part of the ledger → its claims, in the order in which they are written down.
PARTS: dict[str, tuple[Claim, ...]] = {
    heading: tuple(itertools.starmap(_finished, part.items())) for heading, part in _WRITTEN.items()
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
    if id in ERRATA or id in CLAIMS:
        return [ERRATA.get(id, id)]
    several = [name for name in CLAIMS if name.startswith(f"{id}-")]
    if not several:
        known = {name.lower(): name for name in (*CLAIMS, *ERRATA)}
        near = [known[name] for name in difflib.get_close_matches(id.lower(), known, n=3, cutoff=0.4)]
        ways = f"nearest are {', '.join(near)}" if near else "all are in docs/claims.md"
        raise InputError(f"no claim {id!r}; {ways}")
    return several


@functools.cache
def recorded() -> dict[str, Finding]:
    """What is on record, by id.

    >>> recorded()["eq-recursion"].verdict.value
    'fails'
    """
    records = read_json(PATH, "the record that `make claims` writes")
    return {id: Finding(Verdict(record.pop("verdict")), **record) for id, record in records.items()}
