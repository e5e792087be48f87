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

Every numbered statement of a paper, paraphrased, with a verdict and the numbers behind it. Every verdict is computed by
a function. `make claims` measures all claims again and rewrites this page; `anyorder claims` measures them and exits
with 1 if a verdict differs from the record, or a number differs by more than its tolerance.

```sh
anyorder claims list                  # ids and statements
anyorder claims --quick               # claims that take seconds
anyorder claims thm-two-layer E9      # selected claims with all numbers; an erratum selects the claims that measure it
anyorder claims thm-second-order      # all claims whose ids start with this
anyorder claims --results DIR         # include claims about trained models; `anyorder reproduce` fills DIR
```

- *consistent with*: the measurement agrees, but could not have refuted the statement, which leaves a constant open.
- *holds with a correction*: the statement holds once an error of the paper is corrected; [errata](errata.md) lists all.
- *trend holds, values differ*: a reproduction shows the stated trend, but some printed number lies outside its error.
- *vacuous*: no case meets the assumption; the note describes the conclusion elsewhere.

Reversible chains of orders two and three have a return count that decreases with the lag, unless an entry says
otherwise: the prior `Reversible` rejects all others.

"""


def page() -> str:
    """The page as Markdown: the recorded ledgers of all papers."""
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
    errata = (
        f"Errata: {kinds[Kind.ERROR]} errors of the paper, {kinds[Kind.MISPRINT]} misprints, and "
        f"{kinds[Kind.READING]} readings of ours, which are not corrections ([errata](errata.md)). There are "
        f"{counted[Verdict.TREND]} differences in reproduction (*trend holds, values differ*)."
    )
    cost = f"The {len(quick)} quick claims took {_rounded(seconds)} CPU seconds."
    return "\n\n".join([table, *([errata] if kinds else []), *([cost] if quick else [])]) + "\n"


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
