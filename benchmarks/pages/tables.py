"""The tables of constructions in the docs, between `<!-- table: NAME -->` and `<!-- end -->`."""

from __future__ import annotations

from anyorder.constructions.tables import TABLES, Listing
from benchmarks.pages.markdown import as_markdown, rewritten


def markdown(table: Listing) -> str:
    """The table for the docs, with names of constructions as code.

    >>> print(markdown(Listing(("name", "d"), [("bigram", "3S")])))
    | name | d |
    |---|---|
    | `bigram` | 3S |
    """
    return as_markdown(table.headings, [(f"`{name}`", *cells) for name, *cells in table.rows])


def regenerated(page: str) -> str:
    """A page with up-to-date tables."""
    return rewritten(page, "table", lambda name: markdown(TABLES[name]()))
