"""Measure every claim of the ledger, and keep what was found: the record of the package and the pages made from it.

python -m benchmarks.claims                 # some minutes; says what differs from the record
python -m benchmarks.claims --write [ID …]  # measures all, or these, and rewrites record and pages
"""

from __future__ import annotations

import sys
from pathlib import Path

import jax

from anyorder.io.atomic import write_json, write_text
from anyorder.io.trees import as_json
from anyorder.papers.check import check, read_results
from anyorder.papers.erratum import page as errata_page
from anyorder.papers.ledger_page import page
from anyorder.papers.results import FOLDER
from anyorder.papers.two_can.claims import CLAIMS, LEDGER, Claim, find

DOCS = Path(__file__).parents[1] / "docs"


def _begin(claim: Claim) -> None:
    """Say what is measured; what is slow is measured from scratch, so that its cost is its own."""
    print(claim.id, file=sys.stderr, flush=True)
    modules = [module for name, module in sys.modules.items() if name.startswith("anyorder.papers.two_can.claims.")]
    for value in [value for module in modules for value in vars(module).values()] if not claim.quick else ():
        if hasattr(value, "cache_clear"):
            value.cache_clear()
    if not claim.quick:
        jax.clear_caches()


def main() -> None:
    words = [word for word in sys.argv[1:] if word != "--write"]
    before = LEDGER.recorded()
    checked = check(find(words), before, results=read_results(FOLDER), watch=_begin)
    differing = [
        "\n  ".join(
            [
                f"{entry.claim.id}: {entry.before} → {entry.finding.verdict}",
                *map(str, entry.moved),
            ]
        )
        for entry in checked
        if not entry.agrees
    ]
    print("\n".join(differing) or "all verdicts and numbers are those on record")
    if "--write" in sys.argv[1:]:
        found = {entry.claim.id: entry.finding for entry in checked}
        records = {id: found.get(id) or before[id] for id in CLAIMS}
        write_json(LEDGER.record, as_json(records))
        write_text(DOCS / "claims.md", page(records))
        write_text(DOCS / "errata.md", errata_page(LEDGER.errata))
    elif differing:
        sys.exit("the record differs; keep what was measured with --write")


if __name__ == "__main__":
    main()
