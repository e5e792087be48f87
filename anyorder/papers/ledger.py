"""The ledger of a paper: its claims by id, in the order of the paper, its errata, and the recorded verdicts."""

from __future__ import annotations

import dataclasses
import difflib
import enum
import tomllib
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from types import ModuleType

from anyorder.errors import InputError, require
from anyorder.io.atomic import read_json
from anyorder.papers.entry import Claim, Finding, Verdict


class Kind(enum.StrEnum):
    """Kinds of errata. Claims that measure an error never have the verdict "holds"; readings and remarks are ours."""

    ERROR = "error"
    MISPRINT = "misprint"
    READING = "reading"
    REMARK = "remark"


@dataclasses.dataclass(frozen=True)
class Erratum:
    """An erratum: the printed text with its place, and our reading; `claims` are the ids of entries that measure it.

    A misprint is an error on which no claim depends.
    """

    kind: Kind
    where: str
    text: str
    printed: str = ""
    claims: Sequence[str] = ()


def read_errata(path: Path) -> dict[str, Erratum]:
    """The errata of a TOML file, by id."""
    tables = tomllib.loads(path.read_text(encoding="utf-8"))
    return {id: Erratum(**table | {"kind": Kind(table["kind"])}) for id, table in tables.items()}


class Ledger:
    """Claims under headings, the errata that they measure, and the file that records verdicts.

    parts: heading → the modules with its claims. The id of a claim is its variable name, with hyphens.
    errata: errors, readings and remarks by id.
    record: the JSON file with the last finding of every claim.
    """

    def __init__(self, parts: Mapping[str, Iterable[ModuleType]], errata: Mapping[str, Erratum], record: Path) -> None:
        self.errata, self.record = dict(errata), record
        written = {
            heading: {
                name.replace("_", "-"): value
                for module in modules
                for name, value in vars(module).items()
                if isinstance(value, Claim)
            }
            for heading, modules in parts.items()
        }
        everything = {id: entry for part in written.values() for id, entry in part.items()}

        def finished(id: str, entry: Claim) -> Claim:
            """The entry with its id and reverse links; an entry that needs an experiment is not quick."""
            naming = [name for name, other in everything.items() if id in other.see and name not in entry.see]
            quick = entry.quick and not entry.experiments
            return dataclasses.replace(entry, id=id, see=(*entry.see, *naming), quick=quick)

        #: Heading → its claims.
        self.parts = {heading: tuple(finished(*item) for item in part.items()) for heading, part in written.items()}
        #: Every claim by id.
        self.claims = {entry.id: entry for entries in self.parts.values() for entry in entries}

    def __contains__(self, id: str) -> bool:
        """Whether `find` knows this id.

        >>> from anyorder.papers.two_can.claims import LEDGER
        >>> [id in LEDGER for id in ("E9", "thm-second-order", "zzz")]
        [True, True, False]
        """
        return id in self.errata or bool(self._named(id))

    def find(self, ids: Iterable[str]) -> list[Claim]:
        """The claims of these ids, or all claims if no id is given.

        The id of an erratum selects the claims that measure it, and a common prefix selects all ids that start with it.

        >>> from anyorder.papers.two_can.claims import LEDGER
        >>> [entry.where for entry in LEDGER.find(["thm-two-layer"])]
        ['Theorem 3, App. B']
        >>> [entry.id for entry in LEDGER.find(["E9", "thm-second-order"])]
        ['eq-recursion', 'thm-second-order-weights', 'thm-second-order-limit']
        >>> LEDGER.find(["tab-dept"])
        Traceback (most recent call last):
        anyorder.errors.InputError: no claim 'tab-dept'; nearest are tab-depth, tab-bits, tab-settings
        """
        found: dict[str, Claim] = {}
        for id in (wanted := list(ids)):
            named = self._named(id)
            if not named:
                require(id not in self.errata, f"{id} is a misprint that no claim measures; see docs/errata.md")
                known = {name.lower(): name for name in (*self.claims, *self.errata)}
                near = [known[name] for name in difflib.get_close_matches(id.lower(), known, n=3, cutoff=0.4)]
                ways = f"nearest are {', '.join(near)}" if near else "all are in docs/claims.md"
                raise InputError(f"no claim {id!r}; {ways}")
            found |= {name: self.claims[name] for name in named}
        return list((found if wanted else self.claims).values())

    def _named(self, id: str) -> Sequence[str]:
        if id in self.errata:
            return self.errata[id].claims
        return [id] if id in self.claims else [name for name in self.claims if name.startswith(f"{id}-")]

    def recorded(self) -> dict[str, Finding]:
        """The recorded findings by id; empty for a new paper.

        >>> from anyorder.papers.two_can.claims import LEDGER
        >>> LEDGER.recorded()["eq-recursion"].verdict.value
        'fails'
        """
        records = read_json(self.record, "the record that `make claims` writes") if self.record.exists() else {}
        return {id: Finding(**record | {"verdict": Verdict(record["verdict"])}) for id, record in records.items()}
