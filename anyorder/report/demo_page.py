"""The page of the demo: one sequence, followed from its chain to a model that has learned it. Its text: story.html."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from anyorder.io.gates import gated
from anyorder.papers.experiment import Result, Table, TableRow
from anyorder.papers.own.price import priced
from anyorder.papers.two_can.story import Followed
from anyorder.report.page import as_strip, worded, write_page, write_parts
from anyorder.report.style import letters as letters_of
from anyorder.report.tables import as_table

TITLE = "One sequence, followed"
#: Longer tables are folded away.
OPEN_ROWS = 6


@gated
def write_story(
    folder: Path, followed: Followed, compared: Result, certified: Result, trained: Result, two_stage: Result
) -> Path:
    """Write all parts of the story with their files, and the page that shows them."""
    promise = followed.certificate
    asked = {"order": promise.order, "alphabet_size": promise.alphabet_size, "length": promise.length}
    results = {
        "construction": certified,
        "price": priced(dtype=promise.dtype, **asked),
        "training": trained,
        "floor": compared,
        "two-stage": two_stage,
    }
    facts = two_stage.tables["facts"].rows[0]
    values = {
        **_sequence(followed),
        "trained": trained.tables["training"].rows[0],
        "descent": {**facts, "led": "led" if facts["p_1_leads"] else "did not lead"},
    }
    lead, sections = worded("story.html", values)
    for place, section in enumerate(sections):
        if (found := results.get(section.id)) is not None:
            captions = write_parts(folder / section.id, found.tables, found.figures)
            sections[place] = section._replace(tables=found.tables, figures=captions)
    return write_page(folder, TITLE, lead, sections, OPEN_ROWS)


def _sequence(followed: Followed) -> dict[str, object]:
    letters, certified = "".join(letters_of(followed.tokens)), followed.certified_orders
    window, alphabet = letters[-followed.order :], letters_of(range(len(followed.counts)))

    def strip(label: str, heights: Sequence[float] = ()) -> str:
        return as_strip(followed.tokens, followed.order, followed.matches, label, heights)

    counts: list[TableRow] = [
        {"next letter": letter, "times": count, "k-gram": count / sum(followed.counts)}
        for letter, count in zip(alphabet, followed.counts, strict=True)
    ]
    predictions: list[TableRow] = [
        {"predictor": name, **{f"next is {letter}": value for letter, value in zip(alphabet, row, strict=True)}}
        for name, row in followed.predictions.items()
    ]
    return {
        "followed": followed,
        "promise": followed.certificate,
        "length": len(letters),
        "window": window,
        "matches": len(followed.matches),
        "strip": strip(f"The sequence {letters}; {window} came {len(followed.matches)} times before"),
        "strip_constructed": strip(
            "Constructed: attention is equal on all marked letters", followed.attention["constructed"]
        ),
        "strip_trained": strip(
            "Trained: attention of the last position on every letter", followed.attention["trained"]
        ),
        "counts": as_table(Table(f"What followed {window} so far", counts)),
        "predictions": as_table(Table("What each says about the next letter", predictions)),
        "own_order": certified[followed.certificate.construction],
        "paper_order": certified["two-layer"],
    }
