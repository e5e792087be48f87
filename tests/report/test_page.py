"""A report as one file: its text is escaped, its numbers are whole, long tables are folded."""

import csv
import io
import json

import pytest

from anyorder.errors import InputError
from anyorder.papers.experiment import Table
from anyorder.report.page import Section, as_csv, as_table, captions, write_page, write_parts

ROWS = [{"order": 1, "excess_mean": 0.1234567, "who": "a < b"}, {"order": 2, "excess_mean": None, "who": '"c", d'}]


def test_csv_is_read_back_with_numbers_in_full():
    read = list(csv.DictReader(io.StringIO(as_csv(Table("", ROWS)))))
    assert [row["who"] for row in read] == ["a < b", '"c", d']
    assert [float(row["excess_mean"]) if row["excess_mean"] else None for row in read] == [0.1234567, None]


def test_a_table_escapes_words_and_sets_numbers_to_the_right():
    html = as_table(Table("Means & more.", ROWS))
    assert "<span>Means &amp; more.</span>" in html
    assert '<th scope="col" class="number">excess mean</th>' in html
    assert "<td>a &lt; b</td>" in html
    assert '<td class="number">0.1235</td>' in html
    assert '<td class="number">–</td>' in html


def test_parts_are_whole_where_their_captions_are_and_the_page_folds_long_tables(tmp_path):
    tables = {"short": Table("Short.", ROWS), "long": Table("Long.", ROWS * 20)}
    assert captions(tmp_path / "one") is None
    assert write_parts(tmp_path / "one", tables, {}) == captions(tmp_path / "one") == {}
    assert json.loads((tmp_path / "one" / "tables.json").read_text()) == {"short": ROWS, "long": ROWS * 20}
    (tmp_path / "damaged").mkdir()
    (tmp_path / "damaged" / "figures.json").write_text("{")
    with pytest.raises(InputError, match=r"figures.json is not whole JSON.*delete the file"):
        captions(tmp_path / "damaged")
    section = Section("one", "One <1>", "App. H", {"T": "32"}, tables, {}, "", failure="no <room>")
    page = write_page(tmp_path, "A report", "It has one part.", [section]).read_text(encoding="utf-8")
    assert "<h2>One &lt;1&gt;</h2>" in page
    assert "This experiment failed: no &lt;room&gt;" in page
    assert "<dt>T</dt><dd>32</dd>" in page
    assert page.count("<details>") == 1
    assert page.index("Short.") < page.index("<details><summary>Long.</summary>")
    for name in tables:
        assert f'href="one/{name}.csv"' in page
        assert (tmp_path / "one" / f"{name}.csv").is_file()
