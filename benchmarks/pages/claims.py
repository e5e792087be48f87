"""docs/claims.md and docs/errata.md, from entries, errata and the record."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping

from anyorder.papers.entry import Claim, Finding, Verdict, shown
from anyorder.papers.ledger import Erratum, Kind, Ledger
from anyorder.papers.registry import ledgers, papers, prefix
from benchmarks.pages.markdown import as_markdown

_INTRODUCTION = """# Claims

Every numbered statement of four papers, paraphrased, with a computed verdict and the numbers behind it.

```sh
anyorder claims list                  # ids and statements
anyorder claims --quick               # claims that take seconds
anyorder claims thm-two-layer E9      # selected claims with all numbers; an erratum selects the claims that measure it
anyorder claims thm-second-order      # all claims whose ids start with this
anyorder claims --results DIR         # include claims about trained models; `anyorder reproduce` fills DIR
```

| verdict | meaning |
|---|---|
| holds | the measurement could have refuted the statement and does not |
| consistent with | the measurement agrees, but could not have refuted the statement, which leaves a constant open |
| holds with a correction | the statement holds once an error of the paper is corrected; [errata](errata.md) lists all |
| trend holds, values differ | a reproduction shows the stated trend, but some printed number lies outside its error |
| fails | the measurement refutes the statement; the note says where it holds |
| vacuous | no case meets the assumption; the note describes the conclusion elsewhere |
| not testable | the statement leaves open what would have to be measured |

Each entry names its place in the paper, paraphrases the statement, and has the verdict with a note, the measured
numbers and the CPU time. Symbols are those of the [glossary](glossary.md). The function that measures a claim is in
`anyorder/papers/<paper>/claims`. Chains called reversible, of orders two and three, also have a return count that
decreases with the lag, unless an entry says otherwise: the prior `Reversible` rejects all others.

"""

_END = """
## What can go wrong

- *`anyorder claims` exits with 1*: a verdict differs from the record, or a number by more than its tolerance (0.1%
  unless the claim sets another). The report names it. Other processors and versions of JAX can move a number slightly.
- *You disagree with a verdict*: `anyorder claims ID` shows its numbers, and [errata](errata.md) the reading behind it.
  Open an issue with the id; an unfair verdict is a bug. `make claims` measures all claims again and rewrites this page.
"""


def claims_page() -> str:
    """docs/claims.md as Markdown: the recorded ledgers of all papers."""
    parts = [_paper(name, ledger) for name, ledger in ledgers().items() if ledger.recorded()]
    return _INTRODUCTION + "\n".join(parts).rstrip() + "\n" + _END


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
    measured = "; ".join(f"{name}: {shown(value, 3)}" for name, value in record.numbers.items())
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


_HEADINGS = {
    (Kind.ERROR, Kind.MISPRINT): "## Errors\n\nMost are slips that do not affect the result.\n",
    (Kind.READING,): "## Readings\n\nAmbiguous passages of the paper, and our interpretation. A reading is not a "
    "correction.\n",
    (Kind.REMARK,): "## Remarks\n\nLoose but true statements, limits that the paper itself states, and notes on other "
    "work.\n",
}
_ERRATA = """# Errata of the paper, readings and remarks

```sh
anyorder claims E9     # measure the claims behind erratum E9
anyorder claims list   # ids and statements of all claims
```

Most statements of [the paper](references.md) hold: see [claims](claims.md). Places are given by section and equation.
Symbols are those of the paper ([glossary](glossary.md)). E1, E2, … are errors, N1, N3, … readings and remarks. This
page is generated from `anyorder/papers/two_can/errata.toml` by `make claims`.
"""

_NEXT = """Next: [assumptions](assumptions.md) has the proofs behind E15, E16 and E25, [rules](rules.md) the thresholds
for trained models.
"""


def errata_page(errata: Mapping[str, Erratum]) -> str:
    """docs/errata.md as Markdown."""
    lines = [_ERRATA]
    for kinds, heading in _HEADINGS.items():
        chosen = {id: one for id, one in errata.items() if one.kind in kinds}
        columns: list[str] = ["", "where", "printed", "our reading", "measured by"]
        rows = [[id, one.where, one.printed, one.text, _measured(one)] for id, one in chosen.items()]
        if not any(one.printed for one in chosen.values()):
            columns, rows = [*columns[:2], "text", columns[-1]], [[*row[:2], *row[3:]] for row in rows]
        cells = [[cell.replace("|", "\\|") for cell in row] for row in rows]
        lines += [heading, as_markdown(columns, cells) + "\n"]
    return "\n".join([*lines, _NEXT])


def _measured(one: Erratum) -> str:
    return ", ".join(f"`{claim}`" for claim in one.claims) or "misprint"
