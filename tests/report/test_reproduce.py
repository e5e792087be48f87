"""The report of experiments: agreement with print at a glance."""

import re

from anyorder.papers.experiment import Table
from anyorder.report.page import Section
from anyorder.report.reproduce import judged, write_report
from anyorder.sweeps.analysis import Spread

ROWS = [
    {"preset": preset, "layers": layers, "excess": Spread(mean, 0.004), "printed": printed, "excess_agrees": agrees}
    for preset, layers, mean, printed, agrees in (
        ("published", 1, 0.149, "0.131 ± 0.000", False),
        ("published", 2, 0.101, "0.100 ± 0.003", True),
        ("paper", 1, 0.134, "0.131 ± 0.000", True),
    )
]


def test_the_page_begins_with_printed_and_measured_numbers_and_their_verdict(tmp_path):
    depth = Section("depth", "One layer against two", "", {}, {"excess": Table("Excess.", ROWS)}, {}, "")
    depth = depth._replace(preset="published")
    other = Section("other", "Other", "", {}, {}, {}, "", failure="no room")
    (found,) = judged(depth, "published")  # rows of the preset that is judged
    assert (found.column, found.printed) == ("excess", ["0.131 ± 0.000", "0.100 ± 0.003"])
    page = write_report(tmp_path, [depth, other]).read_text(encoding="utf-8")
    summary = re.search(r'<nav aria-label="Summary">.*?</nav>', page)[0]
    assert page.index("<header>") < page.index(summary) < page.index("<main>")
    assert '<a href="#depth">One layer against two</a>' in summary
    assert '<span class="badge partly">◐ 1 of 2 agree</span>' in summary
    assert "<span>0.131 ± 0.000</span> · <span>0.100 ± 0.003</span>" in summary
    assert re.search(r'<span class="differs"><abbr [^>]*>✗</abbr> 0.1490 ± 0.0040</span>', summary)
    assert re.search(r'<span class="agrees"><abbr [^>]*>✓</abbr> 0.1010 ± 0.0040</span>', summary)
    assert '<a href="#other">Other</a> <span class="failed">failed</span>' in summary
