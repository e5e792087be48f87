"""Measure claims, and compare verdicts and numbers with the record.

Claims about trained models read the tables of experiments from a folder.
"""

from __future__ import annotations

import dataclasses
import functools
import time
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import NamedTuple

from anyorder.errors import InputError
from anyorder.io.atomic import Tables, read_json
from anyorder.io.trees import as_json
from anyorder.papers.entry import ROUNDING, TOLERANCE, Claim, Finding, Measure, Verdict, shown
from anyorder.papers.results import folded


class Moved(NamedTuple):
    """A number that differs from the recorded one by more than its relative tolerance."""

    number: str
    recorded: Measure
    measured: Measure
    tolerance: float

    def __str__(self) -> str:
        return f"{self.number}: {shown(self.measured)}, on record {shown(self.recorded)}, tolerance {self.tolerance:g}"


@dataclasses.dataclass(frozen=True)
class Checked:
    """A claim with its new finding and the recorded one, None if there is none.

    A claim agrees with the record if either of the two findings is "not measured here".
    """

    claim: Claim
    finding: Finding
    recorded: Finding | None

    @functools.cached_property
    def moved(self) -> list[Moved]:
        """The numbers that moved, including those only recorded or only measured; none without a verdict."""
        if not self.judged:
            return []
        tolerances = self.claim.tolerances
        recorded, measured = {} if self.recorded is None else self.recorded.numbers, self.finding.numbers
        pairs = [
            Moved(name, recorded.get(name), measured.get(name), tolerances.get(name, tolerances.get("*", TOLERANCE)))
            for name in {**recorded, **measured}
        ]
        return [pair for pair in pairs if not _near(pair.recorded, pair.measured, pair.tolerance)]

    @property
    def judged(self) -> bool:
        """Whether there is a verdict both now and on record."""
        return Verdict.UNMEASURED not in (self.finding.verdict, self.before)

    @property
    def before(self) -> Verdict | None:
        """The verdict on record."""
        return None if self.recorded is None else self.recorded.verdict

    @property
    def agrees(self) -> bool:
        """Whether the verdict and every number agree with the record."""
        return not self.judged or (self.finding.verdict == self.before and not self.moved)

    def as_dict(self) -> dict[str, object]:
        """The comparison as plain JSON values."""
        return {
            "id": self.claim.id,
            "where": self.claim.where,
            "claim": self.claim.says,
            **as_json(self.finding),
            "recorded": self.before,
            "moved": as_json(self.moved),
            "agrees": self.agrees,
            "see": self.claim.see,
        }


def check(
    claims: Iterable[Claim],
    records: Mapping[str, Finding],
    *,
    results: Mapping[str, Tables] | None = None,
    watch: Callable[[Claim], None] = lambda claim: None,
    prefix: str = "",
) -> list[Checked]:
    """Measure claims and compare them with the record.

    results: tables of experiments by id, as `read_results` returns them.
    watch: called with each claim before it is measured.
    prefix: prefix of the paper's ids, added to every reported id.

    >>> from anyorder.papers.two_can.claims.registry import find, recorded
    >>> [entry.agrees for entry in check(find(["eq-score"]), recorded())]
    [True]
    """
    checked = []
    for claim in claims:
        watch(claim)
        full = dataclasses.replace(claim, id=prefix + claim.id, see=tuple(prefix + other for other in claim.see))
        checked.append(Checked(full, _measure(claim, results or {}, prefix), records.get(claim.id)))
    return checked


def _measure(claim: Claim, results: Mapping[str, Tables], prefix: str) -> Finding:
    missing = [name for name in claim.experiments if name not in results]
    if missing:
        commands = " and ".join(f"`anyorder reproduce {prefix}{name} --out DIR`" for name in missing)
        return Finding(Verdict.UNMEASURED, f"{commands} fills it, then pass the tables in DIR with `results=`", {})
    start = time.process_time()
    finding = claim.measure(*(results[name] for name in claim.experiments))
    seconds = round(time.process_time() - start, 2)
    return dataclasses.replace(finding, numbers=as_json(finding.numbers), seconds=seconds)


def _near(a: Measure, b: Measure, tolerance: float) -> bool:
    if isinstance(a, list) and isinstance(b, list):
        return len(a) == len(b) and all(_near(x, y, tolerance) for x, y in zip(a, b, strict=True))
    if isinstance(a, dict) and isinstance(b, dict):
        return a.keys() == b.keys() and all(_near(a[key], b[key], tolerance) for key in a)
    if isinstance(a, int | float) and isinstance(b, int | float):
        return bool(abs(a - b) <= tolerance * max(abs(a), abs(b)) + ROUNDING) or a == b
    return a == b


def read_results(folder: str | Path) -> dict[str, Tables]:
    """The tables of every experiment in a folder by id, from `ID.json` or `ID/tables.json`.

    >>> read_results("no such folder")
    {}
    """
    found = {}
    for path in sorted(Path(folder).glob("*/tables.json")):
        found[path.parent.name] = _tables(path, read_json(path, "the tables of an experiment"))
    for path in sorted(Path(folder).glob("*.json")):
        record = read_json(path, "the result of an experiment")
        if "tables" in record:  # the folder may contain other files
            found[path.stem] = _tables(path, record["tables"])
    return found


def _tables(path: Path, tables: object) -> Tables:
    found = {}
    for name, table in tables.items() if isinstance(tables, dict) else [("", None)]:
        rows = table.get("rows") if isinstance(table, dict) else table
        if not isinstance(rows, list) or not all(isinstance(row, dict) for row in rows):
            raise InputError(f"{path} must map tables to lists of rows; run the experiment again")
        found[name] = folded(rows)
    return found
