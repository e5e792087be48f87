"""Results as JSON for people and other programs: what `anyorder reproduce` writes, and what the repository records.

`results/paper/<id>.json` is such a file for every experiment that was run at the paper's budget.
"""

from __future__ import annotations

import itertools
from collections.abc import Mapping
from pathlib import Path

from anyorder.io.atomic import Row, read_json
from anyorder.io.trees import as_json
from anyorder.papers.experiment import Experiment
from anyorder.papers.runner import Record
from anyorder.papers.two_can.printed import RULE

#: Where results at the paper's budget are recorded, in a copy of the repository.
FOLDER = Path(__file__).parents[2] / "results" / "paper"
#: What every file has, and of which type; `preset`, `steps` and `config` are null where nothing is trained.
KEYS: dict[str, type] = {
    "id": str, "title": str, "where": str, "budget": str, "seeds": list, "tables": dict, "figures": dict, "notes": list,
    "settings": dict, "versions": dict, "minutes": float,
}  # fmt: skip


def public(experiment: Experiment, record: Record, seconds: float | None) -> Row:
    """The JSON of a record: tables with each seed, printed values beside ours, verdict, and how it was run."""
    result, config, tables = record.result, record.result.config, as_json(record.result.tables)
    return as_json(
        {
            "id": experiment.id,
            "title": experiment.title,
            "where": experiment.where,
            "budget": record.budget,
            "preset": result.preset,
            "steps": None if config is None else config.optimisation.steps,
            "seeds": list(range(record.seeds if config is None else config.seeds)),
            "verdict": verdict(tables),
            "tables": tables,
            "figures": {name: figure.caption for name, figure in result.figures.items()},
            "notes": result.notes,
            "settings": result.settings,
            "config": config,
            "versions": record.versions,
            "minutes": (seconds or 0.0) / 60,
        }
    )


def verdict(tables: Mapping[str, Row]) -> Row | None:
    """How many numbers agree with print, by column, and the rule; None where nothing is printed."""
    found: dict[str, list[bool]] = {}
    for row in itertools.chain.from_iterable(table["rows"] for table in tables.values()):
        for column, agrees in row.items():
            if column.endswith("_agrees") and agrees is not None:
                found.setdefault(column.removesuffix("_agrees"), []).append(agrees)
    if not found:
        return None
    return {
        "rule": RULE,
        "agree": {name: f"{sum(values)} of {len(values)}" for name, values in found.items()},
        "holds": any(map(all, found.values())),
    }


def read_recorded(id: str, folder: Path = FOLDER) -> Row | None:
    """A recorded result; None where the experiment has not been recorded."""
    path = folder / f"{id}.json"
    return read_json(path, "a recorded result", KEYS) if path.exists() else None
