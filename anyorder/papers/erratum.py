"""Errata of a paper as data: errors, readings and remarks, and the claims that measure them."""

from __future__ import annotations

import dataclasses
import enum
import tomllib
from pathlib import Path


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
