"""The parts of docs/reproduce.md that are made from the experiments and from what is recorded at the paper's budget."""

from __future__ import annotations

from collections.abc import Mapping

from anyorder.io.atomic import Row
from anyorder.io.markdown import as_markdown, rewritten
from anyorder.papers.registry import EXPERIMENTS, RECORDED
from anyorder.papers.results import read_recorded
from anyorder.papers.two_can.printed import RULE
from anyorder.report.page import shown

#: Tables with more rows than this are left to the file.
LONG = 24


def regenerated(page: str) -> str:
    """The page with its parts as they are now; each stands between `<!-- part: NAME -->` and `<!-- end -->`."""
    found = {id: record for id in RECORDED if (record := read_recorded(id)) is not None}
    parts = {
        "experiments": _experiments(),
        "recorded": _recorded(found),
        "differences": "\n".join(f"- {paragraph}" for paragraph in differences(found)),
    }
    return rewritten(page, "part", parts.__getitem__)


def differences(found: Mapping[str, Row]) -> list[str]:
    """A paragraph for every experiment that has printed numbers, from the tables that are recorded."""
    tables = {id: {name: table["rows"] for name, table in one["tables"].items()} for id, one in found.items()}
    return [one.difference(tables[id]) for id, one in RECORDED.items() if one.difference is not None and id in found]


def _experiments() -> str:
    rows = [
        (f"`{one.id}`", one.title, one.where, f"{one.minutes['quick']:g} min", f"{one.minutes['paper']:g} min")
        for one in EXPERIMENTS.values()
    ]
    return as_markdown(("id", "what", "where", "quick", "paper"), rows)


def _recorded(found: Mapping[str, Row]) -> str:
    missing = ", ".join(f"`{id}`" for id in RECORDED if id not in found)
    parts = [f"{RULE} ± is over seeds, in `bits` over sequences.", *map(_section, found.values())]
    return "\n".join(parts) + (f"\n\nNot recorded yet: {missing}." if missing else "")


def _section(record: Row) -> str:
    id, seeds = record["id"], record["seeds"]
    on_page = RECORDED[id]
    models = f"seeds {seeds[0]} to {seeds[-1]}" if len(seeds) > 1 else f"seed {seeds[0]}"
    trained = f"{record['steps']:,} steps, {models}" if record["steps"] else "no training"
    lines = [f"\n### {record['title']} (`{id}`)\n", f"{record['where']}; preset `{record['preset']}`, {trained}.\n"]
    for one in record.get("earlier", []):
        names = " and ".join(f"`{name}`" for name in one["presets"])
        notes = " ".join(one["notes"])
        lines.append(f"Rows of {names}: version {one['versions']['anyorder']}, {one['minutes']:.0f} minutes. {notes}\n")
    judged = record["verdict"]
    if judged is not None:
        counts = "; ".join(f"`{name}` {count}" for name, count in judged["agree"].items())
        lines.append(f"Agreement with print: {counts}.\n")
    lines += [f"{note}\n" for note in record["notes"]]
    for name, table in record["tables"].items():
        if name in on_page.wide:
            lines += [f"{table['caption']}\n", markdown(wide(table["rows"], *on_page.wide[name])) + "\n"]
        elif len(table["rows"]) <= LONG:
            lines += [f"{table['caption']}\n", markdown(table["rows"]) + "\n"]
        else:
            lines.append(f"{table['caption']} {len(table['rows'])} rows: table `{name}` of the file.\n")
    # A path that holds on GitHub and for Sphinx, which copies pictures from beside its root.
    lines += [f"![{record['figures'][name]}](../results/paper/{id}/{name}.png)\n" for name in on_page.figures]
    return "\n".join([*lines, f"All numbers and each seed: `results/paper/{id}.json`."])


def wide(rows: list[Row], keys: tuple[str, ...], by: str, value: str) -> list[Row]:
    """One row for each value of the keys, with mean and deviation of `value` under each value of the column `by`.

    >>> wide([{"k": 1, "offset": 0, "weight_mean": 0.25, "weight_std": 0.0104}], ("k",), "offset", "weight")
    [{'k': 1, '0_mean': 0.25, '0_std': 0.01}]
    """
    heads = sorted({row[by] for row in rows})
    found: dict[tuple[object, ...], Row] = {}
    for row in rows:
        named = {key: row[key] for key in keys}
        empty = {f"{head}_{end}": None for head in heads for end in ("mean", "std")}
        own = found.setdefault(tuple(named.values()), named | empty)
        own |= {f"{row[by]}_{end}": round(row[f"{value}_{end}"], 3) for end in ("mean", "std")}
    return list(found.values())


def markdown(rows: list[Row]) -> str:
    """Rows as a table of Markdown: mean and deviation in one column, what each seed gave left to the file.

    >>> print(markdown([{"k": 1, "loss_mean": 0.5, "loss_std": 0.01, "loss_seeds": [0.5], "loss_agrees": True}]))
    | k | loss | loss agrees |
    |---|---|---|
    | 1 | 0.5 ± 0.01 | yes |
    """
    merged = {
        name.removesuffix("_mean") + end for name in rows[0] if name.endswith("_mean") for end in ("_std", "_seeds")
    }
    names = [name for name in rows[0] if name not in merged and any(row[name] is not None for row in rows)]

    def cell(row: Row, name: str) -> str:
        value = row[name]
        if isinstance(value, list):
            return " ".join(shown(entry) for entry in value)
        deviation = row.get(f"{name.removesuffix('_mean')}_std") if name.endswith("_mean") else None
        return shown(value) if deviation is None else f"{shown(value)} ± {deviation:.2g}"

    heads = [name.removesuffix("_mean").replace("_", " ") for name in names]
    return as_markdown(heads, [[cell(row, name) for name in names] for row in rows])
