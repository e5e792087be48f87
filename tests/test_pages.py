"""The generated pages: those of the record and the registries, with differences to print read off recorded tables."""

import copy
import json
import pathlib
import re

import pytest

from anyorder.papers import results
from anyorder.papers.ledger import Erratum, Kind
from anyorder.papers.paper import RESULTS
from anyorder.papers.registry import EXPERIMENTS, papers
from anyorder.papers.two_can.claims import LEDGER
from anyorder.report.tables import words
from benchmarks.pages import tables
from benchmarks.pages.claims import claims_page, errata_page
from benchmarks.pages.recorded import on_pages, read_recorded
from benchmarks.pages.results import differences, markdown, regenerated
from benchmarks.results import merged

DOCS = pathlib.Path(__file__).parents[1] / "docs"
PAGES = {name: paper for name, paper in papers().items() if paper.page is not None}


def test_only_what_the_page_shows_is_recorded():
    assert {path.stem for path in (RESULTS / "paper").glob("*.json")} <= set(on_pages()) <= set(EXPERIMENTS)
    for name in PAGES:
        assert {f"{name}/{path.stem}" for path in (RESULTS / name).glob("*.json")} <= set(on_pages())


@pytest.mark.slow
@pytest.mark.parametrize("name", PAGES)
def test_the_page_of_a_paper_shows_verdicts_and_results_with_five_seeds(name):
    written = (DOCS / f"{PAGES[name].page}.md").read_text(encoding="utf-8")
    assert regenerated(written) == written, "python -m benchmarks.results"
    assert f"<!-- part: {name} -->" in written
    ledger = PAGES[name].ledger()
    for id, finding in ledger.recorded().items():
        assert f"| `{id}` | {ledger.claims[id].says} | {finding.verdict} |" in written
        assert "refuted" in (ledger.claims[id].measure.__doc__ or "").lower()
    for path in (RESULTS / name).glob("*.json"):
        assert len(json.loads(path.read_text(encoding="utf-8"))["seeds"]) >= 5


@pytest.mark.slow
def test_the_page_is_made_from_the_files():
    written = (DOCS / "reproduce.md").read_text(encoding="utf-8")
    assert regenerated(written) == written, "python -m benchmarks.results"
    assert set(re.findall(r"<!-- part: (\w+) -->", written)) == {"experiments", "recorded", "differences"}
    emptied = re.sub(r"(<!-- part: \w+ -->\n).*?(?=<!-- end -->)", r"\1", written, flags=re.DOTALL)
    assert len(emptied) < len(written) / 2
    assert regenerated(emptied) == written


def test_every_column_of_a_record_is_shown():
    """Every value has a column, except deviations and seeds of means, and values that no row has."""
    for id in on_pages():
        found = read_recorded(id)
        for table in found["tables"].values() if found else ():
            rows = table["rows"]
            heads = markdown(results.folded(rows)).splitlines()[0]
            shown = [cell.strip().removesuffix(" ± error") for cell in heads.strip("|").split("|")]
            for column in rows[0]:
                stem, _, end = column.rpartition("_")
                if any(row[column] is not None for row in rows):
                    in_mean = end in ("std", "seeds") and f"{stem}_mean" in rows[0]
                    name = stem if stem and (in_mean or end == "mean") else column
                    beside = end in ("agrees", "difference", "error") and words(stem) in shown
                    assert beside or words(name) in shown, (id, column)
            for named in re.findall("`(\\w+)`", table["caption"]):
                assert words(named) in shown, (id, named)


def records():
    return {id: found for id in on_pages() if (found := read_recorded(id))}


def test_every_experiment_with_printed_numbers_has_a_paragraph():
    printed = [id for id in records() if "/" not in id]
    assert len(differences(records())) == len(printed) - 1  # the unknown order is ours


def test_paragraphs_follow_the_records():
    before = records()
    after = copy.deepcopy(before)
    row = after["depth"]["tables"]["excess"]["rows"][0]
    row["excess_mean"], row["excess_agrees"] = 0.7654, not row["excess_agrees"]
    (old,), (new,) = (differences({"depth": found["depth"]}) for found in (before, after))
    assert "0.7654" in new
    assert "0.7654" not in old
    assert ("does not agree" in old) != ("does not agree" in new)


def test_a_bound_that_print_passes_is_said_and_one_that_it_keeps_is_not():
    found = records()
    (paragraph,) = differences({"transition-noise": found["transition-noise"]})
    assert "the printed value is below the Bayes floor" in paragraph
    for row in found["transition-noise"]["tables"]["excess"]["rows"]:
        row["floor"] = 0.0
    (paragraph,) = differences({"transition-noise": found["transition-noise"]})
    assert "the printed value is below the Bayes floor" not in paragraph


def test_a_bound_is_not_held_against_a_level_that_agrees():
    """Print is below the bound at 0.25 and 0.5 with both kinds of noise."""
    found = records()
    for id, end in (("token-noise", "): no mean over kernels"), ("transition-noise", "). The distribution")):
        judged = [row for row in found[id]["tables"]["excess"]["rows"] if row["preset"] == "published"]
        for agrees, last in ((True, "at 0.25"), (False, "at 0.5")):
            judged[-1]["over_clean_agrees"] = agrees
            (paragraph,) = differences({id: found[id]})
            assert last + end in paragraph


def test_the_page_of_the_ledger_is_that_of_the_record():
    assert (DOCS / "claims.md").read_text(encoding="utf-8") == claims_page()


def test_the_page_of_errata_is_made_from_the_data():
    assert (DOCS / "errata.md").read_text(encoding="utf-8") == errata_page(LEDGER.errata)


def test_every_erratum_stands_below_the_heading_of_its_kind():
    errata = {
        "E1": Erratum(Kind.ERROR, "Sec. 1", "two", "one|1", ("a", "b")),
        "E2": Erratum(Kind.MISPRINT, "Sec. 1", "the", "teh"),
        "N1": Erratum(Kind.READING, "Sec. 2", "either", claims=("c",)),
    }
    errors, readings = errata_page(errata).split("## Readings")
    assert r"| E1 | Sec. 1 | one\|1 | two | `a`, `b` |" in errors
    assert "| E2 | Sec. 1 | teh | the | misprint |" in errors
    assert "| N1 | Sec. 2 | either | `c` |" in readings


@pytest.mark.slow
def test_the_tables_of_the_docs_are_those_of_the_registry():
    for page in DOCS.glob("*.md"):
        text = page.read_text(encoding="utf-8")
        assert tables.regenerated(text) == text, f"{page.name}: python -m benchmarks.exact_orders --docs"


def test_rows_of_other_presets_stay_when_one_is_recorded_again():
    def record(version, minutes, figures, *rows):
        return {"tables": {"t": {"caption": version, "rows": list(rows)}}, "figures": figures, "notes": [version],
                "minutes": minutes, "versions": {"anyorder": version}, "preset": "published",
                    "verdict": {"rule": "equal", "agree": {}}}  # fmt: skip

    old = record("0.1", 5.0, {"a": "old", "b": "old"}, {"preset": "paper", "x": 1}, {"preset": "floor", "x": 2})
    first = merged(record("0.2", 7.0, {"a": "new"}, {"preset": "published", "x": 3, "y": 4}), old)
    assert first["tables"]["t"]["rows"] == [
        {"preset": "published", "x": 3, "y": 4},
        {"preset": "paper", "x": 1, "y": None},
        {"preset": "floor", "x": 2, "y": None},
    ]
    assert first["figures"] == {"a": "new", "b": "old"}
    assert (first["minutes"], first["notes"]) == (7.0, ["0.2"])
    made = {"minutes": 5.0, "versions": {"anyorder": "0.1"}, "notes": ["0.1"]}
    assert first["earlier"] == [{"presets": ["floor", "paper"], **made}]
    # again, with one of the others as well: remaining rows of the oldest keep their versions
    rows = {"preset": "published", "x": 5, "y": 6, "x_agrees": True}, {"preset": "paper", "x": 7, "x_agrees": False}
    second = merged(record("0.3", 9.0, {}, *rows), first)
    assert [row["x"] for row in second["tables"]["t"]["rows"]] == [5, 7, 2]
    assert second["earlier"] == [{"presets": ["floor"], **made}]
    assert second["verdict"] == {"rule": "equal", "agree": {"x": "1 of 1"}}  # of the judged preset
    alone = record("0.4", 1.0, {}, {"x": 1})
    assert merged(alone, None) == merged(alone, record("0.3", 2.0, {}, {"x": 2})) == alone
