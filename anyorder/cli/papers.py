"""`anyorder papers` lists papers; `anyorder claims` measures their claims and compares the verdicts with the record."""

from __future__ import annotations

import dataclasses
import itertools
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import tyro
from rich.console import Console, Group
from rich.table import Table

from anyorder.cli.catalogue import listed
from anyorder.cli.command import Command, Outcome, progress, table
from anyorder.errors import in_flags, require
from anyorder.io.gates import Gate

if TYPE_CHECKING:  # JAX takes a second to import: not for --help
    from anyorder.papers.check import Checked
    from anyorder.papers.entry import Claim

_OFFERED = ("experiments", "presets", "sweeps", "priors", "estimators", "constructions", "mixers")


class Papers(Command):
    """List papers with their experiments (`anyorder reproduce`), claims (`anyorder claims`), presets, priors and so on.

    Examples:
      anyorder papers
      anyorder papers --plugin mine --json
      anyorder reproduce two_can
    """

    next = "anyorder reproduce list"

    def run(self) -> Outcome:
        """Print a few lines for each paper."""
        found = listed("papers")
        shown = []
        for paper in found:
            lines = [f"{paper['name']}: {paper['title']} ({paper['reference']})", f"  {paper['about']}"]
            lines += [f"  {kind}: {', '.join(paper[kind])}" for kind in _OFFERED if paper[kind]]
            lines += [f"  {paper['claims']} claims: anyorder claims {paper['name']}"] if paper["claims"] else []
            shown.append("\n".join([*lines, ""]))
        return Outcome({"papers": found}, Group(*shown, "anyorder reproduce PAPER runs all experiments of a paper."))


class Claims(Command):
    """Measure the claims of papers, one function for each; exit 1 if a verdict differs from the record.

    Examples:
      anyorder claims list
      anyorder claims --quick
      anyorder claims thm-two-layer E9
      anyorder claims two_can
      anyorder claims tab-depth tab-bits --results reproduced --json
    """

    next = "anyorder reproduce list"
    ids: Annotated[tuple[str, ...], tyro.conf.Positional, tyro.conf.arg(metavar="[ID …]")] = ()
    """Ids of claims, prefixes of ids, errata, or names of papers; by default all.
    `anyorder claims list` names them."""
    quick: bool = False
    """Only claims that take seconds."""
    results: Annotated[str | None, Gate("read")] = None
    """The output folder of `anyorder reproduce`: claims about trained models are measured on its tables; by default
    on the tables recorded in the repository."""

    def run(self) -> Outcome:
        """Measure, with progress on standard error, and tabulate."""
        if self.ids == ("list",):
            return _listed()
        from anyorder.papers.check import check, read_results
        from anyorder.papers.registry import find_claims, ledgers, papers, prefix

        chosen = {
            paper: [claim for claim in claims if claim.quick or not self.quick]
            for paper, claims in find_claims(self.ids).items()
        }
        results = {
            paper: read_results(Path(self.results, prefix(paper)) if self.results else papers()[paper].results_folder)
            for paper in chosen
        }
        require(
            self.results is None or any(results.values()),
            f"--results {self.results} contains no tables of experiments; pass the --out of anyorder reproduce",
        )
        count = sum(map(len, chosen.values()))
        require(count > 0, f"none of {', '.join(self.ids)} is in the quick set; drop --quick")
        records = {paper: ledgers()[paper].recorded() for paper in chosen}
        known = [records[paper].get(claim.id) for paper, claims in chosen.items() for claim in claims]
        seconds = sum(record.seconds for record in known if record is not None)
        if seconds >= 10:
            Console(stderr=True).print(f"{count} claims, about {seconds:.0f} CPU seconds", highlight=False)
        begun = itertools.count()
        with progress() as bar:
            task = bar.add_task("claims", total=count)

            def watch(claim: Claim) -> None:
                bar.update(task, completed=next(begun), description=claim.id)

            checked = [
                _in_flags(one)
                for paper, claims in chosen.items()
                for one in check(claims, records[paper], results=results[paper], watch=watch, prefix=prefix(paper))
            ]
        verdicts = Counter(entry.finding.verdict.value for entry in checked)
        differing = [entry.claim.id for entry in checked if not entry.agrees]
        report = {
            "claims": [entry.as_dict() for entry in checked],
            "verdicts": verdicts,
            "differing": differing,
            "moved": {entry.claim.id: entry.moved for entry in checked if entry.moved},
            "seconds": round(sum(entry.finding.seconds for entry in checked), 2),
        }
        shown = Group(*map(_in_full, checked)) if self.ids else _table(checked)
        return Outcome(report, Group(shown, _summary(checked, verdicts, differing)), passed=not differing)


def _in_flags(one: Checked) -> Checked:
    return dataclasses.replace(one, finding=dataclasses.replace(one.finding, detail=in_flags(one.finding.detail)))


def _listed() -> Outcome:
    found = listed("claims")
    columns = {"claim": "<", "where": "<", "statement": "<"}
    return Outcome({"claims": found}, table(columns, ((one["id"], one["where"], one["says"]) for one in found)))


def _table(checked: Sequence[Checked]) -> Table:
    rows = ((one.claim.id, one.claim.where, _verdict(one), one.finding.detail, one.finding.seconds) for one in checked)
    return table({"claim": "<", "where": "<", "verdict": "<", "note": "<", "CPU s": ".1f"}, rows)


def _in_full(entry: Checked) -> str:
    from anyorder.papers.entry import shown

    detail = f": {entry.finding.detail}" if entry.finding.detail else ""
    lines = [
        f"{entry.claim.id} ({entry.claim.where})",
        f"  {entry.claim.says}",
        f"  {_verdict(entry)}{detail}",
        *(f"    {name}: {shown(value)}" for name, value in entry.finding.numbers.items()),
        *(f"    MOVED {moved}" for moved in entry.moved),
        *([f"  see also {', '.join(entry.claim.see)}"] if entry.claim.see else []),
        f"  {entry.finding.seconds:.1f} CPU seconds",
    ]
    return "\n".join(lines)


def _verdict(entry: Checked) -> str:
    verdict = entry.finding.verdict.value
    if entry.before != verdict and not entry.agrees:
        return f"{verdict.upper()}, on record: {entry.before or 'nothing'}"
    return verdict if entry.agrees else f"{verdict}, {len(entry.moved)} MOVED"


def _summary(checked: Sequence[Checked], verdicts: Counter[str], differing: list[str]) -> str:
    counted = ", ".join(f"{count} {verdict}" for verdict, count in verdicts.items())
    ending = f"differing from the record: {', '.join(differing)}" if differing else "all as on record"
    lines = [f"{counted}; {ending}; {sum(entry.finding.seconds for entry in checked):.0f} CPU seconds"]
    for entry in checked:
        lines += [f"{entry.claim.id}: {one.number} moved from {one.recorded} to {one.measured}" for one in entry.moved]
    return "\n".join(lines)
