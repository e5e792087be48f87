"""From experiments that ran to files and a page."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from anyorder.io.atomic import write_json
from anyorder.papers.results import public
from anyorder.papers.runner import Ran
from anyorder.report.page import Section, captions, write_page, write_parts

TITLE = "In-context learning of Markov chains, reproduced"
LEAD = (
    "Tables and figures of papers, and our own, next to what is printed there. Losses are in nats per token. "
    "Mean ± standard deviation is over seeds; the Bayes floor is what no predictor can beat on average."
)


def section(folder: Path, ran: Ran) -> Section:
    """The report's section on one experiment; its files are written unless an earlier call left them."""
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
    if record is None:
        return Section(experiment.id, experiment.title, experiment.where, facts, {}, {}, "", ran.failure)
    result = record.result
    how = "; ".join(f"{name} {value}" for name, value in result.settings.items())
    made = ", ".join(f"{name} {version}" for name, version in record.versions.items())
    how = f"Run with {how}. Budget {record.budget}, {record.seeds} seed{'s' * (record.seeds != 1)} from 0. {made}."
    drawn = captions(folder / experiment.id) if ran.kept else None
    if drawn is None:
        drawn = write_parts(folder / experiment.id, result.tables, result.figures)
    write_json(folder / f"{experiment.id}.json", public(experiment, record, ran.seconds))
    return Section(experiment.id, experiment.title, experiment.where, facts, result.tables, drawn, how)


def write_report(folder: Path, sections: Sequence[Section]) -> Path:
    """The page over all sections."""
    return write_page(folder, TITLE, LEAD, sections)
