"""Tables of experiments: those that the repository records, or those of a folder that `anyorder reproduce` wrote."""

from __future__ import annotations

from pathlib import Path

from anyorder.claims.entry import Tables
from anyorder.errors import InputError
from anyorder.experiments import recorded
from anyorder.files import read_json

#: Where the repository records results at the paper's budget.
RECORDED = recorded.FOLDER


def read_results(folder: str | Path) -> dict[str, Tables]:
    """The tables of every experiment in a folder, by its id: of `ID.json`, or of `ID/tables.json`.

    >>> read_results("no such folder")
    {}
    """
    found = {}
    for path in sorted(Path(folder).glob("*/tables.json")):
        found[path.parent.name] = _tables(path, read_json(path, "the tables of an experiment"))
    for path in sorted(Path(folder).glob("*.json")):
        record = read_json(path, "the result of an experiment")
        if "tables" in record:  # other files of the folder are none of ours
            found[path.stem] = _tables(path, record["tables"])
    return found


def _tables(path: Path, tables: object) -> Tables:
    found = {}
    for name, table in tables.items() if isinstance(tables, dict) else [("", None)]:
        rows = table.get("rows") if isinstance(table, dict) else table
        if not isinstance(rows, list) or not all(isinstance(row, dict) for row in rows):
            raise InputError(f"{path} must map tables to lists of rows; run the experiment again")
        found[name] = rows
    return found
