"""The generated parts of docs/reproduce.md: experiments, and their results recorded at the paper's budget."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path

from anyorder.io.atomic import Row
from anyorder.papers.experiment import CellValue, Table
from anyorder.papers.paper import RESULTS, Paper
from anyorder.papers.registry import EXPERIMENTS, papers
from anyorder.report.tables import captioned, cells, known, shown, words
from anyorder.sweeps.analysis import Spread
from benchmarks.pages.differences import DIFFERENCES
from benchmarks.pages.markdown import as_markdown, rewritten
from benchmarks.pages.recorded import on_pages, read_recorded, recorded_file, typed_tables

#: Tables with more rows than this are linked instead of shown.
LONG = 24


def regenerated(page: str) -> str:
    """The page with up-to-date parts, each between `<!-- part: NAME -->` and `<!-- end -->`."""
    found = {id: record for id in on_pages() if (record := read_recorded(id)) is not None}
    parts = {
        "experiments": _experiments(),
        "recorded": "\n\n".join(filter(None, (_recorded(found, one) for one in papers().values() if one.page is None))),
        "differences": "\n".join(f"- {paragraph}" for paragraph in differences(found)),
        **{name: _verdicts(one) + _recorded(found, one) for name, one in papers().items() if one.page is not None},
    }
    return rewritten(page, "part", parts.__getitem__)


def differences(found: Mapping[str, Row]) -> list[str]:
    """A paragraph for every experiment with printed numbers, from its recorded tables."""
    return [DIFFERENCES[id](typed_tables(found[id])) for id in on_pages() if id in found and id in DIFFERENCES]


def _experiments() -> str:
    parts = []
    for paper in papers().values():
        rows = [
            (f"`{one.id}`", one.title, one.where, f"{one.minutes['quick']:g} min", f"{one.minutes['paper']:g} min")
            for one in EXPERIMENTS.values()
            if one.home is paper
        ]
        table = as_markdown(("id", "experiment", "place in the paper", "quick", "paper"), rows)
        parts.append(f"`{paper.name}`: *{paper.title}*, {paper.reference}: {paper.about}.\n\n{table}")
    return "\n\n".join(parts)


def _recorded(found: Mapping[str, Row], paper: Paper) -> str:
    ids = [id for id in on_pages() if EXPERIMENTS[id].home is paper]
    missing = ", ".join(f"`{id}`" for id in ids if id not in found)
    title = f"**{paper.title}.**" if paper.page is None else ""
    said = " ".join(filter(None, [title, paper.rule(), f"Not recorded yet: {missing}." if missing else ""]))
    return "\n".join([said, *(_section(found[id]) for id in ids if id in found)]) if ids else ""


def _verdicts(paper: Paper) -> str:
    """The statements of a paper with the recorded verdicts."""
    ledger = None if paper.ledger is None else paper.ledger()
    found = {} if ledger is None else ledger.recorded()
    if ledger is None or not found:
        return ""
    rows = [(f"`{id}`", ledger.claims[id].says, str(one.verdict), one.detail) for id, one in found.items()]
    return as_markdown(("claim", "statement", "verdict", "explanation and refutation criterion"), rows) + "\n"


def _section(record: Row) -> str:
    id, seeds = record["id"], record["seeds"]
    on_page, file = on_pages()[id], Path(os.path.relpath(recorded_file(id), RESULTS.parent)).as_posix()
    models = f"seeds {seeds[0]} to {seeds[-1]}" if len(seeds) > 1 else f"seed {seeds[0]}"
    trained = f"preset `{record['preset']}`, {record['steps']:,} steps, {models}" if record["steps"] else "no training"
    lines = [f"\n### {record['title']} (`{id}`)\n", f"{_sentence(record['where'])}; {trained}.\n"]
    for one in record.get("earlier", []):
        names = " and ".join(f"`{name}`" for name in one["presets"])
        notes = " ".join(one["notes"])
        made = f"version {one['versions']['anyorder']}, {one['minutes']:.0f} minutes"
        lines.append(f"Rows of {names}: {made}. {notes}".rstrip() + "\n")
    judged = record["verdict"]
    if judged is not None:
        reading = EXPERIMENTS[id].judged
        counts = "; ".join(
            f"*{words(name)}*{' (judged)' * (name == reading)} {count}" for name, count in judged["agree"].items()
        )
        lines.append(f"Agreement with the printed values: {counts}.\n")
    lines += [f"{note}\n" for note in record["notes"]]
    for name, rows in typed_tables(record).items():
        caption = captioned(Table(record["tables"][name]["caption"], rows))
        if name in on_page.wide:
            lines += [f"{caption}\n", markdown(wide(rows, *on_page.wide[name])) + "\n"]
        elif len(rows) <= LONG:
            lines += [f"{caption}\n", markdown(rows) + "\n"]
        else:
            lines.append(f"{caption} {len(rows)} rows: table `{name}` of the file.\n")
    # A path that is valid on GitHub and for Sphinx, which copies pictures from beside its root.
    lines += [f"![{record['figures'][name]}](../{file.removesuffix('.json')}/{name}.png)\n" for name in on_page.figures]
    return "\n".join([*lines, f"All numbers and each seed: `{file}`."])


def _sentence(words: str) -> str:
    return words[:1].upper() + words[1:]


def wide(rows: list[Row], keys: tuple[str, ...], by: str, value: str) -> list[Row]:
    """One row for each value of the keys, with the spread of `value` under each value of the column `by`.

    >>> wide([{"k": 1, "offset": 0, "weight": Spread(0.25, 0.0104)}], ("k",), "offset", "weight")
    [{'k': 1, '0': Spread(mean=0.25, std=0.01, seeds=None)}]
    """
    heads = sorted({row[by] for row in rows})
    found: dict[tuple[object, ...], Row] = {}
    for row in rows:
        named = {key: row[key] for key in keys}
        own = found.setdefault(tuple(named.values()), named | {str(head): None for head in heads})
        own[str(row[by])] = Spread(round(row[value].mean, 3), round(row[value].std, 3))
    return list(found.values())


def markdown(rows: list[Row]) -> str:
    """Rows as a table of Markdown: a number with its deviation or error and its verdict; the file has each seed.

    >>> print(markdown([{"k": 1, "loss": Spread(0.5, 0.01, [0.49, 0.51]), "loss_agrees": True}]))
    | k | loss |
    |---|---|
    | 1 | 0.500 ± 0.010 ✓ |
    """
    found = [cells(row) for row in rows]
    names = [name for name in found[0] if any(known(row[name].value) for row in found)]
    marks = {None: "", True: " ✓", False: " ✗"}
    body = [[_digits(name, row[name].value) + marks[row[name].agrees] for name in names] for row in found]
    return as_markdown([words(name) for name in names], body)


def _digits(name: str, value: CellValue) -> str:
    """A value as text; floors have a digit more, since excesses lie just above them."""
    return f"{value:.4g}" if name == "floor" and isinstance(value, float) and value > 1e-15 else shown(value)
