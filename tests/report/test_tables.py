"""Tables of a report: eight columns, one cell for a number with its deviation, verdict and seeds, and CSV in full."""

import csv
import io
import re

from anyorder.papers.experiment import Table
from anyorder.report.tables import COLUMNS, as_csv, as_table, cells, chosen_columns
from anyorder.sweeps.analysis import Spread

ROWS = [{"order": 1, "loss": 0.1234567, "who": "a < b"}, {"order": 2, "loss": None, "who": '"c", `d`'}]
SEEDS = [0.11466736852953804, 0.1067]
JUDGED = [
    {"preset": "published", "layers": layers, "excess": Spread(0.1106836, 0.0037123, SEEDS), "printed": "0.100 ± 0.003",
     "excess_difference": 0.0107, "excess_agrees": agrees, "floor": 0.0864, "floor_error": 0.0006, "nothing": None,
     **{f"more_{number}": 0.5 + layers * number for number in range(9)}}
    for layers, agrees in ((1, False), (2, True))
]  # fmt: skip


def columns(html):
    """Headings of every table in it."""
    return [re.findall(r'<th scope="col"[^>]*>(.*?)</th>', head) for head in re.findall(r"<thead>(.*?)</thead>", html)]


def test_csv_is_read_back_with_numbers_in_full():
    read = list(csv.DictReader(io.StringIO(as_csv(Table("", ROWS)))))
    assert [row["who"] for row in read] == ["a < b", '"c", `d`']
    assert [float(row["loss"]) if row["loss"] else None for row in read] == [0.1234567, None]
    (first, _) = csv.DictReader(io.StringIO(as_csv(Table("", JUDGED))))
    assert [float(seed) for seed in first["excess_seeds"].split()] == SEEDS
    assert set(first) > {"excess_mean", "excess_std", "floor_error", "excess_agrees", "more_8", "nothing"}


def test_a_table_escapes_words_and_sets_numbers_to_the_right():
    html = as_table(Table("Means & `more`.", ROWS))
    assert '<p class="caption">Means &amp; <code>more</code>.</p>' in html
    assert '<th scope="col" class="number">loss</th>' in html
    assert "<td>a &lt; b</td>" in html
    assert "<td>&quot;c&quot;, <code>d</code></td>" in html
    assert '<td class="number">0.123</td>' in html
    assert '<td class="number">–</td>' in html
    assert "all " not in html


def test_a_mean_its_deviation_its_verdict_and_its_seeds_are_one_cell():
    html = as_table(Table("Excess.", JUDGED))
    assert re.search(
        r'<td class="number differs"><abbr title="differs from print, by \+0.011">✗</abbr> 0.1107 ± 0.0037<', html
    )
    assert re.search(
        r'<td class="number agrees"><abbr title="agrees with print, by \+0.011">✓</abbr> 0.1107 ± 0.0037<', html
    )
    assert "0.11466736" not in html
    dots = re.search(r'<svg class="seeds".*?</svg>', html)[0]
    assert [float(x) for x in re.findall(r'cx="([\d.]+)"', dots)] == [56.0, 4.0]
    assert "seeds: 0.115, 0.107" in dots
    assert "0.08640 ± 0.00060" in html
    assert '<td class="number">0.100 ± 0.003</td>' in html  # not wrapped


def test_at_most_eight_columns_are_shown_and_all_of_them_on_demand():
    short, whole = columns(as_table(Table("Excess.", JUDGED)))
    assert len(short) == COLUMNS
    assert short[:5] == ["preset", "layers", "excess", "printed", "floor ± error"]
    assert len(whole) == 15
    assert "nothing" in whole
    assert "nothing" not in short
    assert not {"excess agrees", "excess difference", "floor error"} & {*whole}


def test_an_infinite_mean_has_no_error_and_columns_have_no_raw_names():
    rows = [{"of": "k", "a_2_end": 1.0, "excess_loss": "infinite", "excess_loss_error": None},
            {"of": "b", "a_2_end": 1.0, "excess_loss": 0.0591234, "excess_loss_error": 0.0004}]  # fmt: skip
    html = as_table(Table("The final a_2, and `p_1`.", rows))
    assert columns(html) == [["of", "a<sub>2</sub> end", "excess loss ± error"]]
    assert re.findall(r'<td class="number">([^<]*)</td>', html) == ["1", "infinite", "1", "0.05912 ± 0.00040"]
    assert "The final a<sub>2</sub>" in html


def test_an_error_beside_a_spread_keeps_its_column_and_rows_keep_the_same_ones():
    rows = [{"gap": Spread(0.01, 0.002), "gap_error": 0.1, "loss": value, "loss_error": value} for value in (0.5, None)]
    found = [cells(row) for row in rows]
    assert [list(row) for row in found] == [["gap", "gap_error", "loss ± error"]] * 2
    assert chosen_columns(found) == ["gap", "gap_error", "loss ± error"]
