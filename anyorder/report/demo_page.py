"""The page of the demo: one sequence, followed from its chain to a model that has learned it. The words: story.html."""

from __future__ import annotations

import importlib.resources
import re
from collections.abc import Sequence
from html import escape
from pathlib import Path

from anyorder.papers.experiment import Result, Table, TableRow
from anyorder.papers.two_can.story import Followed
from anyorder.report.page import Section, as_table, write_page, write_parts

TITLE = "One sequence, followed"
LEAD = (
    "A transformer learns in context when it looks back for places where the same tokens stood before, and copies what "
    "followed. This page follows one sequence from the chain that made it to a model that has learned to predict it. "
    "Every number was computed just now, on this machine."
)
#: Rows of a table that is not folded away.
OPEN_ROWS = 6


def write_story(
    folder: Path, followed: Followed, compared: Result, certified: Result, trained: Result, two_stage: Result
) -> Path:
    """All parts of the story with their files, and the page over them."""
    results = {"construction": certified, "training": trained, "floor": compared, "two-stage": two_stage}
    facts = two_stage.tables["facts"].rows[0]
    values = {
        **_sequence(followed),
        "trained": trained.tables["training"].rows[0],
        "descent": {**facts, "led": "led" if facts["p_1_leads"] else "did not lead"},
    }
    words = importlib.resources.files("anyorder.report").joinpath("story.html").read_text(encoding="utf-8")
    sections = []
    for id, title, body in re.findall(r"<!-- (\S+): ([^\n]*) -->\n(.*?)(?=<!-- |\Z)", words, flags=re.DOTALL):
        found = results.get(id, Result({}))
        captions = write_parts(folder / id, found.tables, found.figures) if found.tables else {}
        sections.append(Section(id, title, "", {}, found.tables, captions, "", body=body.format_map(values)))
    return write_page(folder, TITLE, LEAD, sections, OPEN_ROWS)


def _sequence(followed: Followed) -> dict[str, object]:
    letters, certified = _letters(followed.tokens), followed.certified_orders
    window = letters[-followed.order :]
    counts: list[TableRow] = [
        {"next letter": _letters([symbol]), "times": count, "k-gram": count / sum(followed.counts)}
        for symbol, count in enumerate(followed.counts)
    ]
    predictions: list[TableRow] = [
        {"predictor": name, **{f"next is {_letters([symbol])}": value for symbol, value in enumerate(row)}}
        for name, row in followed.predictions.items()
    ]
    return {
        "followed": followed,
        "promise": followed.certificate,
        "length": len(letters),
        "window": window,
        "matches": len(followed.matches),
        "strip": _strip(followed, None, f"The sequence {letters}; {window} came {len(followed.matches)} times before"),
        "strip_constructed": _strip(followed, "constructed", "Constructed: attention is equal on all marked letters"),
        "strip_trained": _strip(followed, "trained", "Trained: attention of the last position on every letter"),
        "counts": as_table(Table(f"What followed {window} so far", counts)),
        "predictions": as_table(Table("What each says about the next letter", predictions)),
        "own_order": certified[followed.certificate.construction],
        "paper_order": certified["two-layer"],
    }


def _letters(tokens: Sequence[int]) -> str:
    return "".join("abcdefghijklmnopqrstuvwxyz"[token] for token in tokens)


def _strip(followed: Followed, model: str | None, label: str) -> str:
    """The sequence as letters: the window framed, what followed it earlier marked; bars are a model's attention."""
    heights = None if model is None else followed.attention[model]
    first, cells = len(followed.tokens) - followed.order, []
    for place, letter in enumerate(_letters(followed.tokens)):
        kind = " match" * (place in followed.matches) + " window" * (place >= first)
        bar = "" if heights is None else f'<b><i style="height:{100 * heights[place] / max(heights):.1f}%"></i></b>'
        cells.append(f'<span class="token{kind}">{bar}{letter}</span>')
    return f'<div class="strip" role="img" aria-label="{escape(label)}">{"".join(cells)}</div>'
