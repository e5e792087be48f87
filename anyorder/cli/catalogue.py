"""What the registries hold, as plain data: lists and `--help` appear at once, without importing JAX.

`python -m anyorder.cli.catalogue` writes `catalogue.json` again; a test holds it against the registries.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

from anyorder.cli.command import facts

PATH = Path(__file__).with_name("catalogue.json")


def listed(what: str) -> Any:
    """Constructions, estimators, experiments or claims: from their registry where that is imported, else as kept.

    >>> [entry["id"] for entry in listed("experiments")][:2]
    ['table-1', 'attention-maps']
    """
    registry, _ = _REGISTRIES[what]
    return made(what) if registry in sys.modules else json.loads(PATH.read_text(encoding="utf-8"))[what]


def _constructions() -> dict[str, object]:
    """Every construction with its measured and certified orders, and the tables that people are shown."""
    from anyorder.constructions import CONSTRUCTIONS, tables
    from anyorder.constructions.exact_orders import LEGEND, TOLERANCE, precision_table

    precision: dict[str, list[dict[str, object]]] = {name: [] for name in CONSTRUCTIONS}
    for row in precision_table():
        orders = {
            dtype: {**({} if found is None else vars(found)), "certified": row.certified[dtype]}
            for dtype, found in row.measured.items()
        }
        precision[row.construction].append({"label": row.label, "largest_exact_order": orders})
    entries = [
        {
            "construction": name,
            **facts(entry, "title", "advice", "source", "exactness"),
            "computes": tables.computes(entry),
            **facts(entry, "layers", "heads", "dimension"),
            "mlp": entry.mlp and dict(zip(("depth", "width"), entry.mlp, strict=True)),
            **facts(entry, "parameters", "margin", "options"),
            "largest_exact_order": precision[name][0]["largest_exact_order"] if precision[name] else None,
            "variants": precision[name][1:],
        }
        for name, entry in CONSTRUCTIONS.items()
    ]
    shown = [table() for table in tables.TABLES.values()]
    return {"tolerance": TOLERANCE, "entries": entries, "start": tables.START, "tables": shown, "legend": LEGEND}


def _estimators() -> dict[str, str]:
    from anyorder.estimators.registry import ESTIMATORS

    return {name: entry.meaning for name, entry in ESTIMATORS.items()}


def _experiments() -> list[dict[str, object]]:
    from anyorder.experiments.registry import EXPERIMENTS

    return [facts(one, "id", "title", "where", "minutes") for one in EXPERIMENTS.values()]


def _claims() -> list[dict[str, object]]:
    from anyorder.claims.registry import PARTS

    return [{"part": part, **facts(one, "id", "where", "says", "quick")} for part in PARTS for one in PARTS[part]]


#: What is listed → the module of its registry, and how it is read there.
_REGISTRIES: dict[str, tuple[str, Callable[[], object]]] = {
    "constructions": ("anyorder.constructions.registry", _constructions),
    "estimators": ("anyorder.estimators.registry", _estimators),
    "experiments": ("anyorder.experiments.registry", _experiments),
    "claims": ("anyorder.claims.registry", _claims),
}


def made(what: str) -> Any:
    """A list as its registry has it now."""
    from anyorder.records import as_json

    _, make = _REGISTRIES[what]
    return as_json(make())


def write() -> None:
    """Keep what the registries have now."""
    from anyorder.files import write_json

    write_json(PATH, {what: made(what) for what in _REGISTRIES})


if __name__ == "__main__":
    write()
