"""`anyorder claims`: measure the claims of the paper and hold the verdicts against those on record."""

from __future__ import annotations

import dataclasses
import json
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import tyro
from rich.box import SIMPLE_HEAD
from rich.console import Console, Group, RenderableType
from rich.table import Table

from anyorder.cli.command import Command, Outcome, progress
from anyorder.errors import InputError, require

if TYPE_CHECKING:  # JAX takes a second to import: not for --help
    from anyorder.claims.check import Checked
    from anyorder.claims.entry import Claim, Tables


@dataclasses.dataclass(frozen=True, kw_only=True)
class Claims(Command):
    """Measure what the paper claims, one function for each claim; exit 1 if a verdict differs from the record.

    Examples:
      anyorder claims --quick
      anyorder claims thm-two-layer E9
      anyorder claims tab-depth tab-bits --results reproduced --json
    """

    ids: Annotated[tuple[str, ...], tyro.conf.Positional, tyro.conf.arg(metavar="[ID …]")] = ()
    """Which claims, by id; all of them where none is given. The ids are in docs/claims.md."""
    quick: bool = False
    """Only those that decide in seconds."""
    results: str | None = None
    """The output folder of `anyorder reproduce`: claims about trained models are measured on its tables."""

    def run(self) -> Outcome:
        """Measure, with progress on standard error, and tabulate."""
        from anyorder.claims import check, find
        from anyorder.claims.registry import recorded

        results = {} if self.results is None else read_results(self.results)
        chosen = find(self.ids)
        claims = [claim for claim in chosen if claim.quick or not self.quick]
        require(len(claims) > 0, f"none of {', '.join(self.ids)} is in the quick set; drop --quick")
        records = recorded()
        _announce(claims, records)
        with progress() as bar:
            task = bar.add_task("claims", total=len(claims))
            first = True

            def watch(claim: Claim) -> None:
                nonlocal first
                bar.update(task, advance=0 if first else 1, description=claim.id)
                first = False

            checked = check(claims, records, results=results, watch=watch)
        differing = [entry.claim.id for entry in checked if not entry.agrees]
        report = {
            "claims": [entry.as_dict() for entry in checked],
            "verdicts": dict(Counter(entry.finding.verdict.value for entry in checked)),
            "differing": differing,
            "seconds": round(sum(entry.seconds for entry in checked), 2),
        }
        shown = _in_full(checked) if self.ids else _table(checked)
        return Outcome(report, Group(shown, _summary(report)), passed=not differing)


def read_results(folder: str) -> dict[str, Tables]:
    """The tables of every experiment in the output folder of `anyorder reproduce`."""
    root = Path(folder)
    require(root.is_dir(), f"--results {folder} is no folder; pass the --out of anyorder reproduce")
    found = {}
    for path in sorted(root.glob("*/tables.json")):
        try:
            tables = json.loads(path.read_text(encoding="utf-8"))
        except (OSError, ValueError) as error:
            raise InputError(f"{path} is not a whole JSON file ({error}); run the experiment again") from None
        rows = [row for table in tables.values() for row in table] if isinstance(tables, dict) else [None]
        require(all(isinstance(row, dict) for row in rows), f"{path} must map tables to lists of rows; run it again")
        found[path.parent.name] = tables
    require(len(found) > 0, f"--results {folder} has no */tables.json; pass the --out of anyorder reproduce")
    return found


def _announce(claims: Sequence[Claim], records: Mapping[str, Mapping[str, Any]]) -> None:
    """How long it will take, before it starts, by what it took when the record was made."""
    seconds = sum(records.get(claim.id, {}).get("seconds", 0.0) for claim in claims)
    if seconds >= 10:
        Console(stderr=True).print(f"{len(claims)} claims, about {seconds:.0f} CPU seconds", highlight=False)


def _table(checked: Sequence[Checked]) -> Table:
    table = Table(box=SIMPLE_HEAD, pad_edge=False)
    for heading in ("claim", "where", "verdict", "which, how or why", "CPU s"):
        table.add_column(heading, justify="right" if heading == "CPU s" else "left", no_wrap=heading == "claim")
    for entry in checked:
        table.add_row(entry.claim.id, entry.claim.where, _verdict(entry), entry.finding.detail, f"{entry.seconds:.1f}")
    return table


def _in_full(checked: Sequence[Checked]) -> RenderableType:
    from anyorder.claims.ledger import shown

    blocks = []
    for entry in checked:
        detail = f": {entry.finding.detail}" if entry.finding.detail else ""
        lines = [
            f"{entry.claim.id} ({entry.claim.where})",
            f"  {entry.claim.says}",
            f"  {_verdict(entry)}{detail}",
            *(f"    {name}: {shown(value)}" for name, value in entry.finding.numbers.items()),
            f"  {entry.seconds:.1f} CPU seconds",
        ]
        blocks.append("\n".join(line.replace("[", "\\[") for line in lines))
    return Group(*blocks)


def _verdict(entry: Checked) -> str:
    verdict = entry.finding.verdict.value
    return verdict if entry.agrees else f"{verdict.upper()}, on record: {entry.recorded or 'nothing'}"


def _summary(report: Mapping[str, Any]) -> str:
    counted = ", ".join(f"{count} {verdict}" for verdict, count in report["verdicts"].items())
    differing = report["differing"]
    ending = f"differing from the record: {', '.join(differing)}" if differing else "all as on record"
    return f"{counted}; {ending}; {report['seconds']:.0f} CPU seconds"
