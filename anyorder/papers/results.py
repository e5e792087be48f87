"""Results as the JSON files that `anyorder reproduce` writes."""

from __future__ import annotations

import itertools
from collections.abc import Iterable

from anyorder.io.atomic import Row
from anyorder.io.trees import as_json
from anyorder.papers.experiment import Experiment, TableRow
from anyorder.papers.runner import Record
from anyorder.sweeps.analysis import Spread


def public(experiment: Experiment, record: Record, seconds: float | None) -> Row:
    """A record as JSON: tables with each seed, printed values beside ours, the verdict, and the settings of the run."""
    result, config = record.result, record.result.config
    rows = itertools.chain.from_iterable(table.rows for table in result.tables.values())
    tables = {
        name: {"caption": one.caption, "rows": as_json(expanded(one.rows))} for name, one in result.tables.items()
    }
    return as_json(
        {
            "id": experiment.id,
            "title": experiment.title,
            "where": experiment.where,
            "budget": record.budget,
            "preset": result.preset,
            "steps": None if config is None else config.optimisation.steps,
            "seeds": list(range(record.seeds if config is None else config.seeds)),
            "verdict": verdict(rows, result.preset, experiment.home.rule() if experiment.home else ""),
            "tables": tables,
            "figures": {name: figure.caption for name, figure in result.figures.items()},
            "notes": result.notes,
            "settings": result.settings,
            "config": config,
            "versions": record.versions,
            "minutes": (seconds or 0.0) / 60,
        }
    )


def expanded(rows: Iterable[TableRow]) -> list[Row]:
    """Rows for a file: each `Spread` becomes columns for mean, deviation and seeds.

    >>> expanded([{"k": 1, "loss": Spread(0.5, None, [0.5])}])
    [{'k': 1, 'loss_mean': 0.5, 'loss_std': None, 'loss_seeds': [0.5]}]
    """
    found = []
    for row in rows:
        written: Row = {}
        for name, value in row.items():
            if isinstance(value, Spread):
                written |= {f"{name}_mean": value.mean, f"{name}_std": value.std}
                written |= {} if value.seeds is None else {f"{name}_seeds": value.seeds}
            else:
                written[name] = value
        found.append(written)
    return found


def folded(rows: Iterable[Row]) -> list[Row]:
    """Rows of a file with each `Spread` restored; the inverse of `expanded`.

    >>> folded([{"k": 1, "loss_mean": 0.5, "loss_std": None, "loss_seeds": [0.5]}])
    [{'k': 1, 'loss': Spread(mean=0.5, std=None, seeds=[0.5])}]
    """
    found = []
    for row in rows:
        spreads = [name.removesuffix("_mean") for name in row if name.endswith("_mean")]
        parts = {f"{name}_{part}": name for name in spreads for part in ("mean", "std", "seeds")}
        read: Row = {parts.get(name, name): value for name, value in row.items()}
        for name in spreads:
            mean, std = (None if (one := row.get(f"{name}_{part}")) is None else float(one) for part in ("mean", "std"))
            read[name] = Spread(mean, std, row.get(f"{name}_seeds"))
        found.append(read)
    return found


def verdict(rows: Iterable[TableRow], preset: str | None, rule: str) -> Row | None:
    """Agreements with the printed numbers for an experiment's preset, by column; None without printed numbers."""
    found: dict[str, list[object]] = {}
    for row in (row for row in rows if row.get("preset", preset) == preset):
        for column in row:
            if (agrees := row.get(f"{column}_agrees")) is not None:
                found.setdefault(column, []).append(agrees)
    if not found:
        return None
    return {"rule": rule, "agree": {name: f"{values.count(True)} of {len(values)}" for name, values in found.items()}}
