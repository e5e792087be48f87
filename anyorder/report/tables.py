"""Tables of a report: HTML with at most eight columns, each number with deviation, verdict and seeds; and CSV."""

from __future__ import annotations

import csv
import io
import math
import re
from collections.abc import Sequence
from html import escape
from typing import NamedTuple

from markdown_it import MarkdownIt

from anyorder.papers.experiment import CellValue, Table, TableRow
from anyorder.papers.results import expanded
from anyorder.sweeps.analysis import Spread

#: Most columns shown; all of them are under "all columns" and in the CSV.
COLUMNS = 8
#: Heading of a column with its error, after the name.
WITH_ERROR = " ± error"
#: Columns with priority.
FIRST = {name + end for name in ("excess", "printed", "floor", "gap") for end in ("", WITH_ERROR)}
#: Longest list of numbers that is written out; longer ones become a range.
LISTED = 6
#: Names of columns in words.
_WORDS = {"kgram": "k-gram", "std": "deviation", "bayes": "Bayes", "log2": "log₂", "plus": "+"}
_MARKDOWN = MarkdownIt("commonmark", {"html": False})


class Cell(NamedTuple):
    """A value, whether it agrees with print, and its difference from print."""

    value: CellValue
    agrees: bool | None = None
    difference: float | None = None


def rendered(text: str) -> str:
    """A line of Markdown as HTML, with indices lowered and powers raised.

    >>> rendered("`excess` is *different* if x < y"), rendered("a_2 < 2^b - 1")
    ('<code>excess</code> is <em>different</em> if x &lt; y', 'a<sub>2</sub> &lt; 2<sup>b</sup> - 1')
    """
    return re.sub(r"\^(-?\d+|[A-Za-z])\b", r"<sup>\1</sup>", _lowered(_MARKDOWN.renderInline(text)))


def heading(name: str) -> str:
    """The name of a column as HTML, in words.

    >>> heading("limit_to_kgram"), heading("a_2_end"), heading("std_over_kernels")
    ('limit to k-gram', 'a<sub>2</sub> end', 'deviation over kernels')
    """
    return _lowered(escape(words(name)))


def words(name: str) -> str:
    """The name of a column, a field or a parameter in words; indices stay.

    >>> words("bayes_excess"), words("a_2_end"), words("log2_T_plus_k")
    ('Bayes excess', 'a_2 end', 'log₂ T + k')
    """
    text = re.sub(r"(?<!\b[A-Za-z])_|_(?![0-9a-z](?:_|\b))", " ", name)
    for raw, said in _WORDS.items():
        text = re.sub(rf"\b{raw}\b", said, text)
    return text


def captioned(table: Table) -> str:
    """The caption of a table, with its columns named as above them.

    >>> captioned(Table("The gap is `pool_gap`, unlike `other`.", [{"pool_gap": 0.1}]))
    'The gap is *pool gap*, unlike `other`.'
    """
    text = table.caption
    for name in table.rows[0] if table.rows else ():
        text = text.replace(f"`{name}`", f"*{words(name)}*")
    return text


def _lowered(html: str) -> str:
    return re.sub(r"\b([A-Za-z])_([0-9a-z])\b", r"\1<sub>\2</sub>", html)


def cells(row: TableRow) -> dict[str, Cell]:
    """The cells of a row: `x_agrees` and `x_difference` belong to x, and so does `x_error` unless x is a spread.

    >>> cells({"k": 1, "loss": 0.5, "loss_error": 0.1, "loss_agrees": True})["loss ± error"]
    Cell(value=Spread(mean=0.5, std=0.1, seeds=None), agrees=True, difference=None)
    """
    found: dict[str, Cell] = {}
    beside = {f"{name}_{part}" for name in row for part in ("agrees", "difference")}
    beside |= {f"{name}_error" for name, value in row.items() if not isinstance(value, Spread)}
    for name, value in row.items():
        if name in beside:
            continue
        agrees, difference = row.get(f"{name}_agrees"), row.get(f"{name}_difference")
        if f"{name}_error" in row and not isinstance(value, Spread):
            if not isinstance(value, str):  # such as "infinite", which has no error
                value = Spread(value, row[f"{name}_error"])  # type: ignore[arg-type]
            name += WITH_ERROR
        found[name] = Cell(value, agrees, difference)  # type: ignore[arg-type]
    return found


def chosen_columns(rows: Sequence[dict[str, Cell]]) -> list[str]:
    """The columns to show: judged ones and those with priority, then those that differ between rows, then the rest."""
    columns = {name: [row[name] for row in rows] for name in rows[0]}
    columns = {name: column for name, column in columns.items() if any(known(cell.value) for cell in column)}

    def rank(name: str) -> int:
        column = columns[name]
        wanted = name in FIRST or name == next(iter(columns))
        if wanted or any(cell.agrees is not None for cell in column):
            return 0
        return 1 if len({shown(cell.value) for cell in column}) > 1 else 2

    kept = sorted(columns, key=rank)[:COLUMNS]
    return [name for name in columns if name in kept]


def as_table(table: Table, link: str = "") -> str:
    """The rows as HTML under their caption, which `link` follows."""
    rows = [cells(row) for row in table.rows]
    names, every = chosen_columns(rows), list(rows[0])
    rest = ""
    if len(every) > len(names):
        rest = f"<details><summary>all {len(every)} columns</summary>{_grid(rows, every)}</details>"
    caption = rendered(captioned(table))
    return f'<div class="table"><p class="caption">{caption}{link}</p>{_grid(rows, names)}{rest}</div>'


def _grid(rows: Sequence[dict[str, Cell]], names: Sequence[str]) -> str:
    numbers = int | float | Spread | None
    columns = {name: [row[name].value for row in rows] for name in names}
    numeric = {
        name
        for name, column in columns.items()
        if all(isinstance(value, numbers) for value in column)
        or any(isinstance(value, Spread) or "±" in str(value) for value in column)  # as printed
    }
    side = {name: "number" if name in numeric else "" for name in names}
    head = "".join(f'<th scope="col"{_class(side[name])}>{heading(name)}</th>' for name in names)
    scales = {name: _range([row[name].value for row in rows]) for name in names}
    body = "".join(
        "<tr>" + "".join(as_cell(row[name], side[name], scales[name]) for name in names) + "</tr>" for row in rows
    )
    body = f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"
    return f'<div class="wide" tabindex="0" role="group" aria-label="Table">{body}</div>'


def as_cell(cell: Cell, side: str = "", scale: tuple[float, float] | None = None) -> str:
    """A cell of a table: its verdict as a mark and a colour, its seeds as dots on the scale of the column."""
    kind = "" if cell.agrees is None else " agrees" if cell.agrees else " differs"
    return f"<td{_class(side + kind)}>{marked(cell)}{_dots(cell.value, scale)}</td>"


def _class(names: str) -> str:
    return f' class="{names.strip()}"' if names else ""


def marked(cell: Cell) -> str:
    """A value with the mark of its verdict.

    >>> marked(Cell(Spread(0.1107, 0.0037), True)), marked(Cell(None))
    ('<abbr title="agrees with print">✓</abbr> 0.1107 ± 0.0037', '–')
    """
    text = rendered(shown(cell.value))
    if cell.agrees is None:
        return text
    by = "" if cell.difference is None else f", by {cell.difference:+.2g}"
    sign, said = ("✓", "agrees with print") if cell.agrees else ("✗", "differs from print")
    return f'<abbr title="{said}{by}">{sign}</abbr> {text}'


def known(value: object) -> bool:
    """Whether the value of a cell is known."""
    return value is not None and not (isinstance(value, Spread) and value.mean is None)


def _seeds(value: CellValue) -> list[float]:
    """The seeds of a spread, if there are several.

    >>> _seeds(Spread(2.0, 1.4, [1.0, 3.0])), _seeds(Spread(2.0, None, [2.0])), _seeds(2.0)
    ([1.0, 3.0], [], [])
    """
    found = value.seeds if isinstance(value, Spread) else None
    known = [one for one in found or () if one is not None and math.isfinite(one)]
    return known if len(known) > 1 else []


def _range(values: Sequence[CellValue]) -> tuple[float, float] | None:
    seeds = [seed for value in values for seed in _seeds(value)]
    return (min(seeds), max(seeds)) if seeds else None


def _dots(value: CellValue, scale: tuple[float, float] | None) -> str:
    """Every seed as a dot, on one scale for the column."""
    if scale is None or not (seeds := _seeds(value)):
        return ""
    low, width = scale[0], scale[1] - scale[0] or 1.0
    dots = "".join(f'<circle cx="{4 + 52 * (seed - low) / width:.1f}" cy="5" r="2.5"/>' for seed in seeds)
    said = "seeds: " + ", ".join(map(shown, seeds))
    return f'<svg class="seeds" viewBox="0 0 60 10" role="img" aria-label="{said}"><title>{said}</title>{dots}</svg>'


def shown(value: object) -> str:
    """A value as text.

    >>> shown(0.08647123), shown(-1e-17), shown(None), shown(True), shown(1234567), shown("k")
    ('0.0865', '0', '–', 'yes', '1,234,567', 'k')
    >>> shown(Spread(0.5, 0.0123)), shown(Spread(0.5, None)), shown(Spread(5.7e-17, 5.4e-34))
    ('0.500 ± 0.012', '0.5', '0 ± 0')
    >>> shown(Spread(0.110712, 0.003651)), shown(Spread(1234.5, 21.0)), shown(Spread(0.5, 0.0))
    ('0.1107 ± 0.0037', '1234 ± 21', '0.5 ± 0')
    >>> shown(Spread(0.2042756, 3.2e-6)), shown(Spread(3.8e-6, 3.2e-6)), shown(Spread(-0.00022, 4.2e-5))
    ('0.2043 ± 3.2e-06', '3.8e-06 ± 3.2e-06', '-0.000220 ± 0.000042')
    >>> shown([0.11466736852953804, 0.103]), shown([0.25] * 7 + [0.5])
    ('0.115, 0.103', '0.25 to 0.5 (8 values)')
    """
    match value:
        case None:
            return "–"
        case bool():
            return "yes" if value else "no"
        case Spread(mean=mean, std=std):
            if mean is None or std is None or std <= 1e-15:
                return shown(mean) + " ± 0" * (std is not None)
            if 0 < abs(mean) < 1e-4:
                return f"{mean:.2g} ± {std:.2g}"
            digits = max(0, 1 - math.floor(math.log10(std)))  # two digits of the deviation, and four of the mean
            enough = max(0, 3 - math.floor(math.log10(abs(mean)))) if mean else digits
            return f"{mean:.{digits}f} ± {std:.{digits}f}" if digits <= enough else f"{mean:.{enough}f} ± {std:.2g}"
        case float():
            digits = 0 if abs(value) <= 1e-15 else 3 if abs(value) < 1000 else 4  # 0: rounding error
            return f"{value:.{digits}g}" if digits else "0"
        case int():
            return f"{value:,}"
        case list() | tuple():
            if len(value) > LISTED and all(isinstance(one, int | float) for one in value):
                return f"{min(value):.3g} to {max(value):.3g} ({len(value)} values)"
            return ", ".join(f"{one:.3g}" if isinstance(one, float) else shown(one) for one in value)
    return str(value)


def as_csv(table: Table) -> str:
    """The rows as CSV: numbers in full, lists separated by spaces, missing values empty."""
    stream = io.StringIO()
    if rows := expanded(table.rows):
        writer = csv.DictWriter(stream, list(rows[0]))
        writer.writeheader()
        for row in rows:
            lists = {name: " ".join(map(str, value)) for name, value in row.items() if isinstance(value, list | tuple)}
            writer.writerow({**row, **lists})
    return stream.getvalue()
