"""The page of errata is that of the data."""

import pathlib

from anyorder.papers.erratum import Erratum, Kind, page
from anyorder.papers.two_can.claims import LEDGER

ROOT = pathlib.Path(__file__).parents[2]


def test_the_page_is_made_from_the_data():
    assert (ROOT / "docs" / "errata.md").read_text(encoding="utf-8") == page(LEDGER.errata)


def test_every_erratum_stands_below_the_heading_of_its_kind():
    errata = {
        "E1": Erratum(Kind.ERROR, "Sec. 1", "two", "one|1", ("a", "b")),
        "E2": Erratum(Kind.MISPRINT, "Sec. 1", "the", "teh"),
        "N1": Erratum(Kind.READING, "Sec. 2", "either", claims=("c",)),
    }
    errors, readings = page(errata).split("## Readings")
    assert r"| E1 | Sec. 1 | one\|1 | two | `a`, `b` |" in errors
    assert "| E2 | Sec. 1 | teh | the | misprint |" in errors
    assert "| N1 | Sec. 2 | either | `c` |" in readings
