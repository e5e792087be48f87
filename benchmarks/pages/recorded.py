"""Results recorded in the repository: their files, their tables, and their display settings in the docs.

`results/<paper>/<id>.json` records an experiment at the paper's budget; the folder of `two_can` and `own` is
`results/paper`.
"""

from __future__ import annotations

from pathlib import Path

from anyorder.io.atomic import Row, Tables, read_json
from anyorder.papers.experiment import OnPage
from anyorder.papers.registry import EXPERIMENTS, chosen, prefix
from anyorder.papers.results import folded

#: Required keys of every file, with their types.
KEYS: dict[str, type] = {
    "id": str, "title": str, "where": str, "budget": str, "seeds": list, "tables": dict, "figures": dict, "notes": list,
    "settings": dict, "versions": dict, "minutes": float,
}  # fmt: skip


def on_pages() -> dict[str, OnPage]:
    """The display settings of every experiment with a recorded result, by id."""
    return {id: experiment.on_page for id, experiment in EXPERIMENTS.items() if experiment.on_page is not None}


def typed_tables(record: Row) -> Tables:
    """The tables of a record, with each `Spread` restored."""
    return {name: folded(table["rows"]) for name, table in record["tables"].items()}


def recorded_file(id: str) -> Path:
    """The file with an experiment's recorded result; its figures are in a folder beside it.

    >>> recorded_file("depth").parts[-3:]
    ('results', 'paper', 'depth.json')
    """
    (experiment,) = chosen((id,))
    assert experiment.home is not None
    return experiment.home.results_folder / f"{experiment.id.removeprefix(prefix(experiment.home.name))}.json"


def read_recorded(id: str, folder: Path | None = None) -> Row | None:
    """The recorded result of an experiment, or its result in the folder of a report; None if missing."""
    path = recorded_file(id) if folder is None else folder / f"{id}.json"
    return read_json(path, "a recorded result", KEYS) if path.exists() else None
