"""docs/claims.md: the ledger as a page, made from the entries and what is on record."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from typing import Any

from anyorder.claims.entry import Claim, Verdict
from anyorder.claims.registry import PARTS, recorded

_INTRODUCTION = """# Claims

Every numbered statement of the paper, what is claimed in our words, a verdict, and the numbers behind it. A verdict is
computed by a function that runs; none is written by hand. `make claims` measures all of them again and rewrites this
page; `anyorder claims` measures them and exits with 1 if a verdict differs from the one on record.

```sh
anyorder claims --quick               # those that decide in seconds
anyorder claims thm-two-layer E9      # some, with all their numbers
anyorder claims --results DIR         # with the tables of trained models that `anyorder reproduce` wrote to DIR
```

"""


def page(records: Mapping[str, Mapping[str, Any]] | None = None) -> str:
    """The page as Markdown."""
    records = recorded() if records is None else records
    lines = [_INTRODUCTION + _summary(records)]
    for heading, entries in PARTS.items():
        lines.append(f"## {heading}\n")
        lines += [_entry(entry, records[entry.id]) for entry in entries]
    return "\n".join(lines).rstrip() + "\n"


def _summary(records: Mapping[str, Mapping[str, Any]]) -> str:
    counted = Counter(record["verdict"] for record in records.values())
    quick = [entry for entries in PARTS.values() for entry in entries if entry.quick]
    seconds = sum(records[entry.id]["seconds"] for entry in quick)
    rows = [f"| {verdict.value} | {counted[verdict.value]} |" for verdict in Verdict if counted[verdict.value]]
    table = "\n".join(["| verdict | claims |", "|---|---|", *rows])
    cost = f"The {len(quick)} quick ones took {_rounded(seconds)} CPU seconds when the record was made."
    return f"{table}\n\n{cost}\n"


def _entry(entry: Claim, record: Mapping[str, Any]) -> str:
    detail = f": {record['detail']}" if record["detail"] else ""
    measured = "; ".join(f"{name}: {shown(value)}" for name, value in record["numbers"].items())
    cost = f"{_rounded(record['seconds'])} CPU s" + ("" if entry.quick else ", not in the quick set")
    lines = [
        f"**`{entry.id}`** ({entry.where}) {entry.says}",
        f"**{record['verdict']}**{detail}",
        f"Measured: {measured}." if measured else "",
        "" if entry.experiments else f"Cost: {cost}.",
    ]
    return "  \n".join(_escaped(line) for line in lines if line) + "\n"


def _escaped(line: str) -> str:
    """L* is no emphasis."""
    return line.replace("L*", "L\\*")


def shown(value: Any) -> str:
    """A number, or a list of them, for people: four significant digits.

    >>> shown([0.123456, 2, "a"]), shown(1.5e-9)
    ('0.1235, 2, a', '1.5e-09')
    """
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, float):
        return f"{value:.4g}"
    if isinstance(value, dict):
        return ", ".join(f"{name} {shown(entry)}" for name, entry in value.items())
    if isinstance(value, list | tuple):
        nested = any(isinstance(entry, list | tuple) for entry in value)
        return ", ".join(f"({shown(entry)})" if nested else shown(entry) for entry in value) or "none"
    return "–" if value is None else str(value)


def _rounded(seconds: float) -> str:
    return f"{seconds:.1f}" if seconds < 10 else f"{seconds:.0f}"
