"""`anyorder claims`: measure the claims of the paper and hold the verdicts against those on record."""

from __future__ import annotations

import dataclasses
from collections import Counter
from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated

import tyro
from rich.console import Console, Group, RenderableType
from rich.table import Table

from anyorder.cli.catalogue import listed
from anyorder.cli.command import Command, Outcome, progress, table
from anyorder.errors import require

if TYPE_CHECKING:  # JAX takes a second to import: not for --help
    from anyorder.claims.check import Checked
    from anyorder.claims.entry import Claim


@dataclasses.dataclass(frozen=True, kw_only=True)
class Claims(Command):
    """Measure what the paper claims, one function for each claim; exit 1 if one differs from the record.

    Examples:
      anyorder claims list
      anyorder claims --quick
      anyorder claims thm-two-layer E9
      anyorder claims tab-depth tab-bits --results reproduced --json
    """

    ids: Annotated[tuple[str, ...], tyro.conf.Positional, tyro.conf.arg(metavar="[ID …]")] = ()
    """Which claims, by id, by the beginning of ids, or by erratum; all where none is given. `anyorder claims list`
    names them."""
    quick: bool = False
    """Only those that decide in seconds."""
    results: str | None = None
    """The output folder of `anyorder reproduce`: claims about trained models are measured on its tables. Without it
    those that the repository records are taken."""

    def run(self) -> Outcome:
        """Measure, with progress on standard error, and tabulate."""
        if self.ids == ("list",):
            return _listed()
        from anyorder.claims import check, find
        from anyorder.claims.registry import recorded
        from anyorder.claims.results import RECORDED, read_results

        results = read_results(self.results or RECORDED)
        require(
            self.results is None or len(results) > 0,
            f"--results {self.results} holds no tables of experiments; pass the --out of anyorder reproduce",
        )
        chosen = find(self.ids)
        claims = [claim for claim in chosen if claim.quick or not self.quick]
        require(len(claims) > 0, f"none of {', '.join(self.ids)} is in the quick set; drop --quick")
        records = recorded()
        seconds = sum(records[claim.id]["seconds"] for claim in claims if claim.id in records)
        if seconds >= 10:
            Console(stderr=True).print(f"{len(claims)} claims, about {seconds:.0f} CPU seconds", highlight=False)
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
            "verdicts": dict(_verdicts(checked)),
            "differing": differing,
            "moved": {entry.claim.id: [moved._asdict() for moved in entry.moved] for entry in checked if entry.moved},
            "seconds": round(sum(entry.seconds for entry in checked), 2),
        }
        shown = _in_full(checked) if self.ids else _table(checked)
        return Outcome(report, Group(shown, _summary(checked)), passed=not differing)


def _listed() -> Outcome:
    found = listed("claims")
    headings = ("claim", "where", "what it says")
    shown = table(*headings, words=headings)
    for one in found:
        shown.add_row(one["id"], one["where"], one["says"].replace("[", "\\["))
    return Outcome({"claims": found}, shown)


def _table(checked: Sequence[Checked]) -> Table:
    words = ("claim", "where", "verdict", "note")
    shown = table(*words, "CPU s", words=words)
    for entry in checked:
        shown.add_row(entry.claim.id, entry.claim.where, _verdict(entry), entry.finding.detail, f"{entry.seconds:.1f}")
    return shown


def _in_full(checked: Sequence[Checked]) -> RenderableType:
    from anyorder.claims.entry import shown

    blocks = []
    for entry in checked:
        detail = f": {entry.finding.detail}" if entry.finding.detail else ""
        lines = [
            f"{entry.claim.id} ({entry.claim.where})",
            f"  {entry.claim.says}",
            f"  {_verdict(entry)}{detail}",
            *(f"    {name}: {shown(value)}" for name, value in entry.finding.numbers.items()),
            *(f"    MOVED {moved}" for moved in entry.moved),
            *([f"  see also {', '.join(entry.claim.see)}"] if entry.claim.see else []),
            f"  {entry.seconds:.1f} CPU seconds",
        ]
        blocks.append("\n".join(line.replace("[", "\\[") for line in lines))
    return Group(*blocks)


def _verdict(entry: Checked) -> str:
    verdict = entry.finding.verdict.value
    if entry.recorded != entry.finding.verdict and not entry.agrees:
        return f"{verdict.upper()}, on record: {entry.recorded or 'nothing'}"
    return verdict if entry.agrees else f"{verdict}, {len(entry.moved)} MOVED"


def _verdicts(checked: Sequence[Checked]) -> Counter[str]:
    return Counter(entry.finding.verdict.value for entry in checked)


def _summary(checked: Sequence[Checked]) -> str:
    counted = ", ".join(f"{count} {verdict}" for verdict, count in _verdicts(checked).items())
    differing = ", ".join(entry.claim.id for entry in checked if not entry.agrees)
    ending = f"differing from the record: {differing}" if differing else "all as on record"
    lines = [f"{counted}; {ending}; {sum(entry.seconds for entry in checked):.0f} CPU seconds"]
    for entry in checked:
        lines += [f"{entry.claim.id}: {one.number} moved from {one.recorded} to {one.measured}" for one in entry.moved]
    return "\n".join(line.replace("[", "\\[") for line in lines)
