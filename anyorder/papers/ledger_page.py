"""docs/claims.md: the ledger as a page, from entries and the record."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping

from anyorder.io.markdown import as_markdown
from anyorder.papers.entry import Claim, Finding, Verdict, shown
from anyorder.papers.erratum import Kind
from anyorder.papers.ledger import Ledger
from anyorder.papers.registry import ledgers, papers, prefix

_INTRODUCTION = """# Claims

Every numbered statement of a paper, what is claimed in our words, a verdict, and the numbers behind it. A verdict is
computed by a function that runs; none is written by hand. `make claims` measures all of them again and rewrites this
page; `anyorder claims` measures them and exits with 1 if a verdict, or a number by more than its tolerance, differs
from the one on record.

```sh
anyorder claims list                  # ids, and what each says
anyorder claims --quick               # those that decide in seconds
anyorder claims thm-two-layer E9      # some, with all their numbers; an erratum is the claim that measures it
anyorder claims thm-second-order      # all whose ids begin so
anyorder claims --results DIR         # with the tables of trained models that `anyorder reproduce` wrote to DIR
```

- *consistent with*: the measurement agrees, but could not have refuted the statement, which leaves a constant open.
- *holds with a correction*: an error of the paper is put right, and named; [errata](errata.md) lists them all.
- *trend holds, values differ*: a reproduction shows the stated trend, and some printed number lies outside its error.
- *vacuous*: no case meets the assumption; the note says what the conclusion does elsewhere.

Reversible chains of orders two and three are drawn until their return count falls with the lag, unless an entry says
otherwise: the prior `Reversible` rejects the others.

"""


def page() -> str:
    """The page as Markdown: the ledgers of all papers as they are on record."""
    parts = [_paper(name, ledger) for name, ledger in ledgers().items() if ledger.recorded()]
    return _INTRODUCTION + "\n".join(parts).rstrip() + "\n"


def _paper(name: str, ledger: Ledger) -> str:
    records = ledger.recorded()
    lines = [f"*{papers()[name].title}*, {papers()[name].reference}\n", _summary(ledger, records)]
    for heading, entries in ledger.parts.items():
        lines.append(f"## {heading}\n")
        lines += [_entry(entry, records[entry.id], prefix(name)) for entry in entries if entry.id in records]
    return "\n".join(lines)


def _summary(ledger: Ledger, records: Mapping[str, Finding]) -> str:
    counted = Counter(record.verdict for record in records.values())
    quick = [entry for entry in ledger.claims.values() if entry.quick and entry.id in records]
    seconds = sum((records[entry.id].seconds for entry in quick), 0.0)
    rows = [(verdict, str(counted[verdict])) for verdict in Verdict if counted[verdict]]
    table = as_markdown(("verdict", "claims"), rows)
    kinds = Counter(erratum.kind for erratum in ledger.errata.values())
    apart = (
        f"Counted apart: {kinds[Kind.ERROR]} errors of the paper and {kinds[Kind.MISPRINT]} misprints, "
        f"{kinds[Kind.READING]} readings of ours, which correct nothing ([errata](errata.md)), and "
        f"{counted[Verdict.TREND]} differences in reproduction (*trend holds, values differ*)."
    )
    cost = f"The {len(quick)} quick ones took {_rounded(seconds)} CPU seconds when the record was made."
    return "\n\n".join([table, *([apart] if kinds else []), *([cost] if quick else [])]) + "\n"


def _entry(entry: Claim, record: Finding, prefix: str) -> str:
    detail = f": {record.detail}" if record.detail else ""
    measured = "; ".join(f"{name}: {shown(value)}" for name, value in record.numbers.items())
    cost = f"{_rounded(record.seconds)} CPU s" + ("" if entry.quick else ", not in the quick set")
    lines = [
        f"**`{prefix}{entry.id}`** ({entry.where}) {entry.says}",
        f"**{record.verdict}**{detail}",
        f"Measured: {measured}." if measured else "",
        f"See also: {', '.join(f'`{prefix}{other}`' for other in entry.see)}." if entry.see else "",
        "" if entry.experiments else f"Cost: {cost}.",
    ]
    return "  \n".join(filter(None, lines)).replace("L*", "L\\*") + "\n"  # L* is no emphasis


def _rounded(seconds: float) -> str:
    return f"{seconds:.1f}" if seconds < 10 else f"{seconds:.0f}"
