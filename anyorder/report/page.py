"""A report as one HTML file that needs no network: text, tables, and figures inside it."""

from __future__ import annotations

import base64
import csv
import importlib.resources
import io
import math
from collections.abc import Mapping, Sequence
from html import escape
from pathlib import Path
from typing import NamedTuple

from anyorder.io.atomic import read_json, write_json, write_text
from anyorder.papers.experiment import Table
from anyorder.papers.figure_data import Figure
from anyorder.papers.results import expanded
from anyorder.report.figures import draw
from anyorder.report.style import letters, write_figure
from anyorder.sweeps.analysis import Spread

#: Tables with more rows than this are folded away.
OPEN_ROWS = 24
#: Written last: where it is, all parts of a section are whole.
CAPTIONS = "figures.json"


class Section(NamedTuple):
    """One part of a report; `facts` are shown as term and text, `how` says how it was run, `body` is HTML of our own.

    `figures` are captions by name: the pictures themselves lie in the folder of the section.
    """

    id: str
    title: str
    where: str
    facts: dict[str, str]
    tables: dict[str, Table]
    figures: dict[str, str]
    how: str
    failure: str | None = None
    body: str = ""


def write_parts(folder: Path, tables: dict[str, Table], figures: Mapping[str, Figure]) -> dict[str, str]:
    """The parts of a section as files: every table as CSV, all as JSON, every figure as PNG and SVG; the captions."""
    for name, table in tables.items():
        write_text(folder / f"{name}.csv", as_csv(table))
    write_json(folder / "tables.json", {name: expanded(table.rows) for name, table in tables.items()})
    for name, figure in figures.items():
        picture = draw(figure)
        for ending in ("png", "svg"):
            write_figure(picture, folder / f"{name}.{ending}")
            picture.set_layout_engine("none")  # laid out by the first writing, for both
    captions = {name: figure.caption for name, figure in figures.items()}
    write_json(folder / CAPTIONS, captions)
    return captions


def captions(folder: Path) -> dict[str, str] | None:
    """The figures that were written to a folder; None if not all of its parts were."""
    file = folder / CAPTIONS
    return read_json(file, "another folder, or delete the file") if file.exists() else None


def write_page(folder: Path, title: str, lead: str, sections: Sequence[Section], open_rows: int = OPEN_ROWS) -> Path:
    """`index.html` in the folder, from sections that were written there; longer tables are folded away."""
    style = importlib.resources.files("anyorder.report").joinpath("page.css").read_text(encoding="utf-8")
    links = "".join(f'<li><a href="#{section.id}">{escape(section.title)}</a></li>' for section in sections)
    body = "".join(_section(folder, section, open_rows) for section in sections)
    text = (
        '<!doctype html><html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        '<meta name="color-scheme" content="light dark">'
        f"<title>{escape(title)}</title><style>{style}</style></head><body>"
        f"<header><h1>{escape(title)}</h1><p>{escape(lead)}</p></header>"
        f'<nav aria-label="Contents"><ol>{links}</ol></nav><main>{body}</main></body></html>\n'
    )
    path = folder / "index.html"
    write_text(path, text)
    return path


def _section(folder: Path, section: Section, open_rows: int) -> str:
    parts = [f'<section id="{section.id}"><h2>{escape(section.title)}</h2>']
    if section.where:
        parts.append(f'<p class="where">{escape(section.where)}</p>')
    if section.failure is not None:
        parts.append(f'<p class="failed">This experiment failed: {escape(section.failure)}</p>')
    facts = "".join(f"<dt>{escape(term)}</dt><dd>{escape(text)}</dd>" for term, text in section.facts.items())
    parts.append(f"<dl>{facts}</dl>" if facts else "")
    parts.append(section.body)
    for name, text in section.figures.items():
        link = f' <a href="{section.id}/{name}.svg">SVG</a>'
        parts.append(as_figure(folder / section.id / f"{name}.png", text, link))
    parts += [_table(section.id, name, table, open_rows) for name, table in section.tables.items() if table.rows]
    if section.how:
        parts.append(f'<p class="how">{escape(section.how)}</p>')
    return "".join(parts) + "</section>"


def as_figure(picture: Path, caption: str, link: str = "") -> str:
    """A PNG inside the page, over its caption."""
    data, caption = base64.b64encode(picture.read_bytes()).decode(), escape(caption)
    image = f'<img src="data:image/png;base64,{data}" alt="{caption}">'
    return f"<figure>{image}<figcaption>{caption}{link}</figcaption></figure>"


def following(commands: Mapping[str, str]) -> Section:
    """The last part of a page: commands to copy, and what each does."""
    listed = "".join(f"<dt><code>{escape(line)}</code></dt><dd>{escape(text)}</dd>" for line, text in commands.items())
    return Section("next", "Where to go next", "", {}, {}, {}, "", body=f'<dl class="next">{listed}</dl>')


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
    folded = f"<details><summary>{escape(table.caption)}</summary>{whole}</details>"
    return whole if len(table.rows) <= open_rows else folded


def as_table(table: Table, link: str = "") -> str:
    """The rows as HTML; `link` stands behind the caption."""
    columns = list(table.rows[0])
    numbers = int | float | Spread | None
    numeric = {column for column in columns if all(isinstance(row[column], numbers) for row in table.rows)}
    side = {column: ' class="number"' if column in numeric else "" for column in columns}
    head = "".join(f'<th scope="col"{side[column]}>{escape(column.replace("_", " "))}</th>' for column in columns)
    rows = "".join(
        "<tr>" + "".join(f"<td{side[column]}>{escape(shown(row[column]))}</td>" for column in columns) + "</tr>"
        for row in table.rows
    )
    return (
        f'<div class="wide"><table><caption><span>{escape(table.caption)}{link}</span></caption>'
        f"<thead><tr>{head}</tr></thead><tbody>{rows}</tbody></table></div>"
    )


def shown(value: object) -> str:
    """A value for a person.

    >>> shown(0.08647123), shown(-1e-17), shown(None), shown(True), shown(1234567), shown("k")
    ('0.08647', '0', '–', 'yes', '1,234,567', 'k')
    >>> shown(Spread(0.5, 0.0123)), shown(Spread(0.5, None))
    ('0.500 ± 0.012', '0.5')
    >>> shown(Spread(0.110712, 0.003651)), shown(Spread(1234.5, 21.0)), shown(Spread(0.5, 0.0))
    ('0.1107 ± 0.0037', '1234 ± 21', '0.5 ± 0')
    """
    if isinstance(value, Spread):
        if not value.std or value.mean is None:
            return shown(value.mean) + " ± 0" * (value.std == 0)
        digits = min(8, max(0, 1 - math.floor(math.log10(value.std))))  # two digits of the deviation
        return f"{value.mean:.{digits}f} ± {value.std:.{digits}f}"
    if value is None:
        return "–"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, float):
        return f"{value:.4g}" if abs(value) > 1e-15 else "0"  # what rounding leaves of zero
    return f"{value:,}" if isinstance(value, int) else str(value)


def as_csv(table: Table) -> str:
    """The rows as CSV, numbers in full, nothing where there is no value."""
    stream = io.StringIO()
    if rows := expanded(table.rows):
        writer = csv.DictWriter(stream, list(rows[0]))
        writer.writeheader()
        writer.writerows(rows)
    return stream.getvalue()
