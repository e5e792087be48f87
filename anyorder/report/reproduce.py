"""The files and the page of a report on finished experiments."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape
from pathlib import Path
from typing import NamedTuple

from anyorder.errors import nearest, require
from anyorder.io.atomic import write_json
from anyorder.io.gates import gated
from anyorder.papers.experiment import Budget, Experiment
from anyorder.papers.results import public
from anyorder.papers.runner import Ran
from anyorder.report.page import Section, badge, captions, following, write_page, write_parts
from anyorder.report.tables import Cell, cells, marked, rendered, shown, words

TITLE = "In-context learning of Markov chains, reproduced"
LEAD = (
    "Tables and figures of papers, and our own, next to the printed values. Losses are in nats per token. "
    "± is the standard deviation over seeds; the Bayes floor is the least excess loss of any in-context predictor."
)
#: Columns of the summary, behind the experiment.
COMPARED = ("verdict", "what", "printed", "measured")
#: The meaning of verdicts at a budget below the papers' own.
SHORTENED: dict[Budget, str] = {
    "tiny": "**Budget tiny is a smoke test**: models are hardly trained, so their verdicts say nothing about a paper.",
    "quick": "Budget quick has fewer steps than the papers: verdicts on trained models may change at budget paper.",
}


def section(folder: Path, ran: Ran) -> Section:
    """The report's section on one experiment; its files are written unless they exist."""
    experiment, record = ran.experiment, ran.record
    notes = [] if record is None else record.result.notes
    paper = experiment.home and f"{experiment.home.title} ({experiment.home.reference})"
    said = {
        "Paper": paper,
        "The paper says": experiment.paper,
        "How it is read": experiment.reading,
        "To note": " ".join(notes),
    }
    facts = {term: text for term, text in said.items() if text}
    told = Section(experiment.id, experiment.title, experiment.where, facts, errata=_errata(experiment))
    if record is None:
        return told._replace(failure=ran.failure)
    result = record.result
    how = "; ".join(f"{words(name)}: {value}" for name, value in result.settings.items())
    made = ", ".join(f"{name} {version}" for name, version in record.versions.items())
    how = f"Run with {how}. Budget {record.budget}, {record.seeds} seed{'s' * (record.seeds != 1)} from 0. {made}."
    drawn = captions(folder / experiment.id) if ran.kept else None
    if drawn is None:
        drawn = write_parts(folder / experiment.id, result.tables, result.figures)
    write_json(folder / f"{experiment.id}.json", public(experiment, record, ran.seconds))
    found = told._replace(tables=result.tables, figures=drawn, how=how, preset=result.preset, reading=experiment.judged)
    return found._replace(verdict=_verdict(judged(found)))


def _errata(experiment: Experiment) -> dict[str, str]:
    """The errata that an experiment demonstrates, as facts of a section."""
    paper = experiment.home
    known = paper.ledger().errata if paper is not None and paper.ledger is not None else {}
    for id in experiment.errata:
        require(id in known, f"no erratum {id!r} of {experiment.id} in its ledger; {nearest(id, known)}")
    return {
        f"Erratum {id}": f"{known[id].where}: {known[id].printed}. Our reading: {known[id].text}. "
        f"`anyorder claims {id}` measures it; all errata are in docs/errata.md."
        for id in experiment.errata
    }


class Judged(NamedTuple):
    """A column that is compared with print: the printed values, and ours with verdicts."""

    column: str
    printed: list[str]
    ours: list[Cell]


def judged(section: Section) -> list[Judged]:
    """The columns compared with print, of the judged reading and in the rows of the judged preset."""
    found: dict[str, Judged] = {}
    for table in section.tables.values():
        for row in table.rows:
            for name, cell in cells(row).items():
                wanted = section.reading in (None, name) and row.get("preset", section.preset) == section.preset
                if cell.agrees is not None and wanted:
                    one = found.setdefault(name, Judged(words(name), [], []))
                    one.printed.append(shown(row.get("printed")))
                    one.ours.append(cell)
    return list(found.values())


def _verdict(found: Sequence[Judged]) -> tuple[str, bool | None] | None:
    agreeing = [bool(cell.agrees) for one in found for cell in one.ours]
    if not agreeing:
        return None
    return f"{sum(agreeing)} of {len(agreeing)} agree", {len(agreeing): True, 0: False}.get(sum(agreeing))


def _summary(sections: Sequence[Section]) -> str:
    """The summary table: every experiment with a link and its verdict, and both values if the paper prints numbers."""
    rows = []
    for section in sections:
        links = f'<a href="#{section.id}">{escape(section.title)}</a>' + "".join(
            f'<br><a href="#{section.id}">{term}</a>' for term in section.errata
        )
        found = judged(section)
        if not found:
            said = "no numbers printed" if section.failure is None else '<span class="failed">failed</span>'
            facts = {term: section.facts[term] for term in ("The paper says", "To note") if term in section.facts}
            text = "<br>".join(f"{term}: {rendered(fact)}" for term, fact in facts.items())
            rows.append(f'<th scope="row">{links}</th><td>{said}</td><td colspan="3">{text}</td>')
        for one in found:
            verdict = _verdict([one])
            assert verdict is not None
            printed = " · ".join(f"<span>{escape(value)}</span>" for value in one.printed)
            ours = " · ".join(
                f'<span class="{"agrees" if cell.agrees else "differs"}">{marked(cell)}</span>' for cell in one.ours
            )
            title = f'<th scope="rowgroup" rowspan="{len(found)}">{links}</th>' if one is found[0] else ""
            cells = zip(COMPARED, (badge(*verdict), escape(one.column), printed, ours), strict=True)
            rows.append(title + "".join(f'<td data-label="{name}">{cell}</td>' for name, cell in cells))
    head = "".join(f'<th scope="col">{name}</th>' for name in ("experiment", *COMPARED))
    body = "".join(f"<tr>{row}</tr>" for row in rows)
    grid = f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"
    caption = "Numbers next to print, in the order of the rows below: ✓ agrees, ✗ differs."
    frame = f'<div class="wide summary" tabindex="0" role="group" aria-label="Summary">{grid}</div>'
    return f'<nav aria-label="Summary"><p class="caption">{caption}</p>{frame}</nav>'


@gated
def write_report(
    folder: Path,
    sections: Sequence[Section],
    next_step: str = "anyorder claims --quick",
    budget: Budget = "paper",
) -> Path:
    """Write the page with all sections, a note on the budget at its top, and the next command at its end."""
    last = following(
        {next_step: "measures the statements of the papers, and compares them with the verdicts on record"}
    )
    lead = " ".join([LEAD, SHORTENED[budget]] if budget in SHORTENED else [LEAD])
    return write_page(folder, TITLE, lead, [*sections, last], summary=_summary(sections))
