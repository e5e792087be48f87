"""The ledger of claims: the quick set against the record, the page, the command, and verdicts from small tables."""

from __future__ import annotations

import pathlib

from anyorder.claims import ledger

ROOT = pathlib.Path(__file__).parents[2]


def test_the_pages_are_those_of_the_record():
    assert (ROOT / "docs" / "claims.md").read_text(encoding="utf-8") == ledger.page()
    assert (ROOT / "docs" / "errata.md").read_text(encoding="utf-8") == ledger.errata_page()
