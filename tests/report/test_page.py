"""A report as one file: its text is escaped, its Markdown rendered, long tables are folded."""

import json
import re
from pathlib import Path

import pytest

from anyorder.errors import InputError
from anyorder.papers.experiment import Table
from anyorder.report.page import Section, captions, write_page, write_parts

ROWS = [{"order": 1, "excess_mean": 0.1234567, "who": "a < b"}, {"order": 2, "excess_mean": None, "who": '"c", d'}]


def test_parts_are_whole_where_their_captions_are_and_the_page_folds_long_tables(tmp_path):
    tables = {"short": Table("Short.", ROWS), "long": Table("Long.", ROWS * 20)}
    assert captions(tmp_path / "one") is None
    assert write_parts(tmp_path / "one", tables, {}) == captions(tmp_path / "one") == {}
    assert json.loads((tmp_path / "one" / "tables.json").read_text()) == {"short": ROWS, "long": ROWS * 20}
    (tmp_path / "damaged").mkdir()
    (tmp_path / "damaged" / "figures.json").write_text("{")
    with pytest.raises(InputError, match=r"figures.json is not valid JSON.*delete the file"):
        captions(tmp_path / "damaged")
    facts = {"T": "32, `excess` is *different*"}
    section = Section("one", "One <1>", "App. H", facts, tables, {}, "", failure="no <room>", verdict=("1 of 2", None))
    page = write_page(tmp_path, "A report", "It has one part.", [section]).read_text(encoding="utf-8")
    assert '<h2>One &lt;1&gt; <span class="badge partly">◐ 1 of 2</span></h2>' in page
    assert "This experiment failed: no &lt;room&gt;" in page
    assert "<dt>T</dt><dd>32, <code>excess</code> is <em>different</em></dd>" in page
    assert page.count("<details>") == 1
    assert page.index("Short.") < page.index("<details><summary>Long. 40 rows</summary>")
    for name in tables:
        assert f'href="one/{name}.csv"' in page
        assert (tmp_path / "one" / f"{name}.csv").is_file()


def test_explorer_reports_and_drawings_have_one_palette():
    """Blue is the query, orange the key, shaded orange the copied token: light, then dark."""
    root = Path(__file__).parents[2]
    style, report, drawing = (
        (root / path).read_text(encoding="utf-8").partition("prefers-color-scheme: dark")[::2]
        for path in ("anyorder/web/static/style.css", "anyorder/report/page.css", "docs/images/idea.svg")
    )

    def colours(parts, patterns):
        """The match of each pattern in the dark rules, or in the light ones where those have none."""
        light, dark = ([re.search(pattern, part) for pattern in patterns] for part in parts)
        return [[one[1] for one in light], [(new or old)[1] for new, old in zip(dark, light, strict=True)]]

    light, dark = colours(style, [rf"--{name}: (#\w+)" for name in ("blue", "query-tint", "vermillion", "key-tint")])
    dark[0] = re.search(r"--sky: (#\w+)", style[0])[1]
    assert "--queries: var(--blue)" in style[0]
    assert "--keys: var(--vermillion)" in style[0]
    assert "--queries: var(--sky)" in style[1]
    names = ("accent", "query-tint", "key", "key-tint")
    assert colours(report, [rf"--{name}: (#\w+)" for name in names]) == [light, dark]
    shapes = (r"query {[^}]*stroke", r"query { fill", r"key { stroke", r"found { fill")
    assert colours(drawing, [rf"\.{shape}: (#\w+)" for shape in shapes]) == [light, dark]
