"""The tables of the documentation."""

import pathlib

import pytest

from anyorder.constructions import tables


@pytest.mark.slow
def test_the_tables_of_the_docs_are_those_of_the_registry():
    for page in (pathlib.Path(__file__).parents[2] / "docs").glob("*.md"):
        text = page.read_text(encoding="utf-8")
        assert tables.regenerated(text) == text, f"{page.name}: python -m benchmarks.exact_orders --docs"
