"""Measure every claim of every paper, and write the record of each paper and the pages generated from the records.

python -m benchmarks.claims                 # takes minutes; prints the differences from the record
python -m benchmarks.claims --write [ID …]  # measures all, these, or those of a paper, and rewrites record and pages
"""

from __future__ import annotations

import sys
from pathlib import Path

import jax

from anyorder.io.atomic import write_json, write_text
from anyorder.io.trees import as_json
from anyorder.papers.check import Checked, check, read_results
from anyorder.papers.entry import Claim
from anyorder.papers.registry import find_claims, ledgers, papers, prefix
from benchmarks.pages.claims import claims_page, errata_page

DOCS = Path(__file__).parents[1] / "docs"


def _begin(claim: Claim) -> None:
    """Print the claim to be measured; a slow one is measured without caches, so that its cost is complete."""
    print(claim.id, file=sys.stderr, flush=True)
    modules = [module for name, module in sys.modules.items() if ".claims." in name and "papers" in name]
    for value in [value for module in modules for value in vars(module).values()] if not claim.quick else ():
        if hasattr(value, "cache_clear"):
            value.cache_clear()
    if not claim.quick:
        jax.clear_caches()


def main() -> None:
    words, known = [word for word in sys.argv[1:] if word != "--write"], ledgers()
    checked: dict[str, list[Checked]] = {}
    for paper, claims in find_claims(words).items():
        tables = read_results(papers()[paper].results_folder)
        checked[paper] = check(claims, known[paper].recorded(), results=tables, watch=_begin)
    differing = [
        "\n  ".join(
            [
                f"{prefix(paper)}{entry.claim.id}: {entry.before} → {entry.finding.verdict}",
                *map(str, entry.moved),
            ]
        )
        for paper, entries in checked.items()
        for entry in entries
        if not entry.agrees
    ]
    print("\n".join(differing) or "all verdicts and numbers agree with the record")
    if "--write" in sys.argv[1:]:
        for paper, entries in checked.items():
            ledger, found = known[paper], {entry.claim.id: entry.finding for entry in entries}
            records = ledger.recorded() | found
            write_json(ledger.record, as_json({id: records[id] for id in ledger.claims if id in records}))
        errata = {prefix(name) + id: one for name, ledger in known.items() for id, one in ledger.errata.items()}
        write_text(DOCS / "claims.md", claims_page())
        write_text(DOCS / "errata.md", errata_page(errata))
    elif differing:
        sys.exit("the record differs; write the measurements with --write")


if __name__ == "__main__":
    main()
