"""The contents of the registries as plain data: lists and `--help` appear at once, without importing JAX.

A list is generated from its registry once and cached until a file of the package changes (`cache.kept`).
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

import anyorder
from anyorder import chains, estimators, io, papers, sweeps, training
from anyorder.cli.command import facts, working
from anyorder.io import cache, plugins


def listed(what: str) -> Any:
    """One of the lists below, from the cache unless its registry is already imported.

    >>> [entry["id"] for entry in listed("experiments")][:2]
    ['table-1', 'attention-maps']
    """
    registry, make = _REGISTRIES[what]

    def made() -> Any:
        return io.trees.as_json(make())

    def made_once() -> Any:
        with working(f"reading the {what}, once"):
            return made()

    # Plug-ins may change the lists through any file that they import.
    return made() if registry in sys.modules or plugins.outside() else cache.kept(what, made_once)


def _constructions() -> dict[str, object]:
    """Every construction with its measured and certified orders, and the tables for the terminal."""
    from anyorder.constructions import tables
    from anyorder.constructions.exact_orders import LEGEND, TOLERANCE, precision_table

    precision: dict[str, list[dict[str, object]]] = {name: [] for name in anyorder.constructions.CONSTRUCTIONS}
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
        for name, entry in anyorder.constructions.CONSTRUCTIONS.items()
    ]
    shown = [table() for table in tables.TABLES.values()]
    return {"tolerance": TOLERANCE, "entries": entries, "start": tables.START, "tables": shown, "legend": LEGEND}


def _options() -> dict[str, list[dict[str, object]]]:
    """The options of all constructions by name, each with its meanings and the constructions that have them.

    `--seed` belongs to the sequences.
    """
    found: dict[str, dict[str, dict[str, Any]]] = {}
    for entry in anyorder.constructions.CONSTRUCTIONS.values():
        for option in entry.options:
            meanings = found.setdefault(option.name, {})
            meaning = meanings.setdefault(option.help, {**facts(option, "help", "default"), "constructions": []})
            meaning["constructions"].append(entry.name)
    return {name: list(meanings.values()) for name, meanings in found.items() if name != "seed"}


def _estimators() -> dict[str, str]:
    return {name: entry.meaning for name, entry in estimators.ESTIMATORS.items()}


def _papers() -> list[dict[str, object]]:
    """Every paper with its experiments and claims, and everything else that its folder or file defines."""
    from anyorder.constructions import CONSTRUCTIONS
    from anyorder.training.mixers import MIXERS

    registries: list[plugins.Registry[Any]] = [training.PRESETS, sweeps.SWEEPS, chains.PRIORS]
    registries += [estimators.ESTIMATORS, CONSTRUCTIONS, MIXERS]
    found = []
    for name, paper in papers.papers().items():
        home, ledger = papers.registry.PAPERS.home(name), papers.registry.ledgers().get(name)
        others = {f"{one.kind}s": [thing for thing in one if one.home(thing) == home] for one in registries}
        entry = facts(paper, "name", "title", "reference", "about")
        entry |= {"home": home, "experiments": [one["id"] for one in _experiments() if one["paper"] == name]}
        entry |= {"claims": 0 if ledger is None else len(ledger.claims), **others}
        found.append(entry)
    return found


def _experiments() -> list[dict[str, object]]:
    return [
        {"paper": paper.name, **facts(one, "id", "title", "where", "minutes")}
        for paper in papers.papers().values()
        for one in papers.EXPERIMENTS.values()
        if one.home is paper
    ]


def _claims() -> list[dict[str, object]]:
    from anyorder.papers.registry import ledgers, prefix

    return [
        {"paper": paper, "part": part, **facts(one, "where", "says", "quick"), "id": prefix(paper) + one.id}
        for paper, ledger in ledgers().items()
        for part, entries in ledger.parts.items()
        for one in entries
    ]


#: Each list → the module of its registry, and its reader.
_REGISTRIES: dict[str, tuple[str, Callable[[], object]]] = {
    "constructions": ("anyorder.constructions.registry", _constructions),
    "options": ("anyorder.constructions.registry", _options),
    "estimators": ("anyorder.estimators.registry", _estimators),
    "papers": ("anyorder.papers.ledger", _papers),
    "experiments": ("anyorder.papers.registry", _experiments),
    "claims": ("anyorder.papers.ledger", _claims),
}
