"""All claims by id, in the order of the paper, and the verdicts on record."""

from __future__ import annotations

import difflib
import functools
import json
import re
from collections.abc import Iterable
from pathlib import Path
from types import ModuleType
from typing import Any

from anyorder.claims import (
    constructions,
    definitions,
    errata,
    experiments,
    gradient,
    higher_order,
    lemmas,
    parameters,
    preconditioned,
    proofs,
)
from anyorder.claims.entry import Claim
from anyorder.errors import InputError

#: Heading of a part of the ledger → its claims, in the order in which they are written down.
Parts = dict[str, tuple[Claim, ...]]

#: Verdict, numbers and seconds of every claim when it was last measured, beside this file.
PATH = Path(__file__).with_name("recorded.json")


def _entries(module: ModuleType) -> list[Claim]:
    return [value for value in vars(module).values() if isinstance(value, Claim)]


def _parts() -> Parts:
    modules = {
        "Definitions (Sec. 2 and 3)": definitions,
        "Constructions (Theorems 1 to 3)": constructions,
        "Steps of their proofs (Sec. 4, App. A and B)": proofs,
        "Parameters (Table 1, App. I)": parameters,
        "Gradient descent, first order (Sec. 5, App. C)": gradient,
        "Lemmas of the first order (App. C, E and G)": lemmas,
        "Assumptions and lemmas of higher orders (App. D and F)": higher_order,
        "Gradient descent, higher order (App. D)": preconditioned,
        "Trained models (Fig. 2, App. H)": experiments,
    }
    parts = {heading: _entries(module) for heading, module in modules.items()}
    numbered = [*_entries(errata), *(entry for entries in parts.values() for entry in entries)]
    parts = {heading: [e for e in entries if not _number(e.id)] for heading, entries in parts.items()}
    parts["Errata"] = sorted((entry for entry in numbered if _number(entry.id)), key=lambda entry: _number(entry.id))
    return {heading: tuple(entries) for heading, entries in parts.items()}


def _number(id: str) -> int:
    """The number of an erratum, 0 for any other id."""
    found = re.fullmatch(r"E(\d+)", id)
    return int(found[1]) if found else 0


#: Every claim under the heading of its part; errata last, by number.
PARTS: Parts = _parts()

#: Every claim by id.
CLAIMS: dict[str, Claim] = {entry.id: entry for entries in PARTS.values() for entry in entries}


def find(ids: Iterable[str]) -> list[Claim]:
    """The claims of these ids; all of them where none is given.

    >>> [entry.where for entry in find(["thm-two-layer"])]
    ['Theorem 3, App. B']
    >>> find(["tab-dept"])
    Traceback (most recent call last):
    anyorder.errors.InputError: no claim 'tab-dept'; nearest are tab-depth, tab-bits, tab-settings
    """
    wanted = list(ids)
    for id in wanted:
        if id not in CLAIMS:
            known = {name.lower(): name for name in CLAIMS}
            near = [known[name] for name in difflib.get_close_matches(id.lower(), known, n=3, cutoff=0.4)]
            ways = f"nearest are {', '.join(near)}" if near else "all are in docs/claims.md"
            raise InputError(f"no claim {id!r}; {ways}")
    return [CLAIMS[id] for id in dict.fromkeys(wanted)] if wanted else list(CLAIMS.values())


@functools.cache
def recorded() -> dict[str, dict[str, Any]]:
    """What is on record, by id: verdict, detail, numbers, seconds."""
    return json.loads(PATH.read_text(encoding="utf-8"))
