"""The page of the ledger."""

from __future__ import annotations

import pathlib

from anyorder.papers import ledger_page

ROOT = pathlib.Path(__file__).parents[2]


def test_the_page_is_that_of_the_record():
    assert (ROOT / "docs" / "claims.md").read_text(encoding="utf-8") == ledger_page.page()
