"""A report as one HTML file that needs no network: text, tables, and figures inside it."""

from __future__ import annotations

import base64
import re
from collections.abc import Mapping, Sequence
from html import escape
from pathlib import Path
from types import MappingProxyType
from typing import NamedTuple

from anyorder.io.atomic import read_json, write_json, write_text
from anyorder.io.gates import gated
from anyorder.papers.experiment import Table
from anyorder.papers.figure_data import Figure
from anyorder.papers.results import expanded
from anyorder.report.figures import draw
from anyorder.report.style import letters, write_figure
from anyorder.report.tables import as_csv, as_table, captioned, rendered

#: Figures wider than this, in pixels, scroll on a narrow screen; others shrink.
LARGE = 520
#: Tables with more rows than this are collapsed.
OPEN_ROWS = 24
#: Written last: if it exists, all parts of a section are complete.
CAPTIONS = "figures.json"


class Section(NamedTuple):
    """One part of a report; `facts` are terms with texts, `how` describes the run, `body` is HTML.

    `verdict` is shown beside the title: text, and whether all, some (None) or none of the numbers agree with print.
    Only numbers of `preset` and `reading`, a column, are judged. `errata` are facts with a link in the summary.

    `figures` are captions by name; the pictures are in the folder of the section.
    """

    id: str
    title: str
    where: str = ""
    facts: Mapping[str, str] = MappingProxyType({})
    tables: Mapping[str, Table] = MappingProxyType({})
    figures: Mapping[str, str] = MappingProxyType({})
    how: str = ""
    failure: str | None = None
    body: str = ""
    verdict: tuple[str, bool | None] | None = None
    preset: str | None = None
    reading: str | None = None
    errata: Mapping[str, str] = MappingProxyType({})


def resource(name: str) -> str:
    """The text of a file beside this module."""
    return Path(__file__).with_name(name).read_text(encoding="utf-8")


def worded(name: str, values: Mapping[str, object]) -> tuple[str, list[Section]]:
    """The lead and the sections of a page from its text file, in which values are in braces.

    The lead is Markdown. `<!-- id: title -->` begins a section, which is HTML.
    """
    lead, *parts = re.split(r"<!-- (\S+): ([^\n]*) -->\n", resource(name))
    found = zip(parts[::3], parts[1::3], parts[2::3], strict=True)
    sections = [Section(id, title, body=body.format_map(values)) for id, title, body in found]
    return lead.strip().format_map(values), sections


def write_parts(folder: Path, tables: dict[str, Table], figures: Mapping[str, Figure]) -> dict[str, str]:
    """Write the parts of a section: tables as CSV and JSON, figures as PNG and SVG; return the captions."""
    for name, table in tables.items():
        write_text(folder / f"{name}.csv", as_csv(table))
    write_json(folder / "tables.json", {name: expanded(table.rows) for name, table in tables.items()})
    for name, figure in figures.items():
        picture = draw(figure)
        for ending in ("png", "svg"):
            write_figure(picture, folder / f"{name}.{ending}")
            picture.set_layout_engine("none")  # the first write computes the layout for both
    captions = {name: figure.caption for name, figure in figures.items()}
    write_json(folder / CAPTIONS, captions)
    return captions


def captions(folder: Path) -> dict[str, str] | None:
    """The captions of the figures in a folder; None if some part of it is missing."""
    file = folder / CAPTIONS
    return read_json(file, "another folder, or delete the file") if file.exists() else None


@gated
def write_page(
    folder: Path, title: str, lead: str, sections: Sequence[Section], open_rows: int = OPEN_ROWS, summary: str = ""
) -> Path:
    """Write `index.html` in the folder, from the sections written there; longer tables are collapsed.

    `summary` is HTML that replaces the table of contents.
    """
    links = "".join(f'<li><a href="#{section.id}">{escape(section.title)}</a></li>' for section in sections)
    contents = summary or f'<nav aria-label="Contents"><ol>{links}</ol></nav>'
    body = "".join(_section(folder, section, open_rows) for section in sections)
    text = (
        '<!doctype html><html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        '<meta name="color-scheme" content="light dark">'
        f"<title>{escape(title)}</title><style>{resource('page.css')}</style></head><body>"
        f"<header><h1>{escape(title)}</h1><p>{rendered(lead)}</p></header>{contents}<main>{body}</main></body></html>\n"
    )
    path = folder / "index.html"
    write_text(path, text)
    return path


def _section(folder: Path, section: Section, open_rows: int) -> str:
    beside = "" if section.verdict is None else " " + badge(*section.verdict)
    parts = [f'<section id="{section.id}"><h2>{escape(section.title)}{beside}</h2>']
    if section.where:
        parts.append(f'<p class="where">{rendered(section.where)}</p>')
    if section.failure is not None:
        parts.append(f'<p class="failed">This experiment failed: {escape(section.failure)}</p>')
    told = {**section.facts, **section.errata}
    facts = "".join(f"<dt>{escape(term)}</dt><dd>{rendered(text)}</dd>" for term, text in told.items())
    parts.append(f"<dl>{facts}</dl>" if facts else "")
    parts.append(section.body)
    for name, text in section.figures.items():
        link = f' <a href="{section.id}/{name}.svg">SVG</a>'
        parts.append(as_figure(folder / section.id / f"{name}.png", text, link))
    parts += [_table(section.id, name, table, open_rows) for name, table in section.tables.items() if table.rows]
    if section.how:
        parts.append(f'<p class="how">{rendered(section.how)}</p>')
    return "".join(parts) + "</section>"


def badge(text: str, agrees: bool | None) -> str:
    """A verdict with its mark and colour: all, some (None) or no numbers agree."""
    kind, mark = {True: ("agrees", "✓"), None: ("partly", "◐"), False: ("differs", "✗")}[agrees]
    return f'<span class="badge {kind}">{mark} {escape(text)}</span>'


def as_figure(picture: Path, caption: str, link: str = "") -> str:
    """A PNG inside the page, over its caption."""
    data = picture.read_bytes()
    large = ' class="large"' * (int.from_bytes(data[16:20], "big") > LARGE)  # the width in the header of a PNG
    source = f"data:image/png;base64,{base64.b64encode(data).decode()}"
    image = f'<img{large} src="{source}" alt="{escape(caption.replace("`", ""))}">'
    frame = f'<div class="picture" tabindex="0" role="group" aria-label="Figure">{image}</div>'
    return f"<figure>{frame}<figcaption>{rendered(caption)}{link}</figcaption></figure>"


def following(commands: Mapping[str, str]) -> Section:
    """The last part of a page: commands to copy, each with a description."""
    listed = "".join(f"<dt><code>{escape(line)}</code></dt><dd>{escape(text)}</dd>" for line, text in commands.items())
    return Section("next", "Where to go next", body=f'<dl class="next">{listed}</dl>')


def as_strip(tokens: Sequence[int], window: int, matches: Sequence[int], label: str, heights: Sequence[float]) -> str:
    """A sequence as letters: its last `window` framed, matches marked, and a bar over each if there are heights."""
    cells = []
    for place, letter in enumerate(letters(tokens)):
        kind = " match" * (place in matches) + " window" * (place >= len(tokens) - window)
        height = 100 * heights[place] / max(heights) if heights else 0.0
        bar = f'<b><i style="height:{height:.1f}%"></i></b>' if heights else ""
        cells.append(f'<span class="token{kind}">{bar}{letter}</span>')
    return f'<div class="strip" role="img" aria-label="{escape(label)}">{"".join(cells)}</div>'


def _table(id: str, name: str, table: Table, open_rows: int) -> str:
    whole = as_table(table, f' <a href="{id}/{name}.csv">CSV</a>')
    folded = f"<details><summary>{rendered(captioned(table))} {len(table.rows)} rows</summary>{whole}</details>"
    return whole if len(table.rows) <= open_rows else folded
