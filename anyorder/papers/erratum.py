"""Errata of a paper as data: errors, readings and remarks, which claims measure them, and the page that lists them."""

from __future__ import annotations

import dataclasses
import enum
import tomllib
from collections.abc import Mapping
from pathlib import Path

from anyorder.io.markdown import as_markdown


class Kind(enum.StrEnum):
    """Kinds of errata. No claim that measures an error has the verdict "holds"; readings and remarks are ours."""

    ERROR = "error"
    MISPRINT = "misprint"
    READING = "reading"
    REMARK = "remark"


@dataclasses.dataclass(frozen=True)
class Erratum:
    """An erratum: the printed text with its place, and our reading; `claims` are the ids of entries that measure it.

    A misprint is an error on which no claim depends.
    """

    kind: Kind
    where: str
    text: str
    printed: str = ""
    claims: tuple[str, ...] = ()


def read_errata(path: Path) -> dict[str, Erratum]:
    """The errata of a TOML file, by id."""
    tables = tomllib.loads(path.read_text(encoding="utf-8"))
    return {
        id: Erratum(**{**table, "kind": Kind(table["kind"]), "claims": tuple(table.get("claims", ()))})
        for id, table in tables.items()
    }


_HEADINGS = {
    (Kind.ERROR, Kind.MISPRINT): "## Errors\n\nMost are slips that do not affect the result.\n",
    (Kind.READING,): "## Readings\n\nAmbiguous passages of the paper, and our interpretation. A reading is not a "
    "correction.\n",
    (Kind.REMARK,): "## Remarks\n\nLoose but true statements, limits that the paper itself states, and notes on other "
    "work.\n",
}
_INTRODUCTION = """# Errata of the paper, readings and remarks

Most statements of the paper hold: see [claims](claims.md). `anyorder claims E9` measures the claims behind erratum E9
again. Places are given by section and equation. This page is generated from `anyorder/papers/two_can/errata.toml` by
`make claims`.
"""


def page(errata: Mapping[str, Erratum]) -> str:
    """docs/errata.md as Markdown."""
    lines = [_INTRODUCTION]
    for kinds, heading in _HEADINGS.items():
        chosen = {id: one for id, one in errata.items() if one.kind in kinds}
        columns: list[str] = ["", "where", "printed", "our reading", "measured by"]
        rows = [[id, one.where, one.printed, one.text, _measured(one)] for id, one in chosen.items()]
        if not any(one.printed for one in chosen.values()):
            columns, rows = [*columns[:2], "text", columns[-1]], [[*row[:2], *row[3:]] for row in rows]
        cells = [[cell.replace("|", "\\|") for cell in row] for row in rows]
        lines += [heading, as_markdown(columns, cells) + "\n"]
    return "\n".join(lines)


def _measured(one: Erratum) -> str:
    return ", ".join(f"`{claim}`" for claim in one.claims) or "misprint"
