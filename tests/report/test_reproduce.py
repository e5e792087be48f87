"""The report of experiments: agreement with print."""

import dataclasses
import re

import pytest

from anyorder.errors import InputError
from anyorder.papers.experiment import Result, Table, Task
from anyorder.papers.registry import EXPERIMENTS
from anyorder.papers.runner import Ran, Record
from anyorder.report.page import Section
from anyorder.report.reproduce import judged, section, write_report
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
    (found,) = judged(depth)  # rows of the preset that is judged
    assert (found.column, found.printed) == ("excess", ["0.131 ± 0.000", "0.100 ± 0.003"])
    page = write_report(tmp_path, [depth, other]).read_text(encoding="utf-8")
    summary = re.search(r'<nav aria-label="Summary">.*?</nav>', page)[0]
    assert page.index("<header>") < page.index(summary) < page.index("<main>")
    assert '<a href="#depth">One layer against two</a>' in summary
    assert '<span class="badge partly">◐ 1 of 2 agree</span>' in summary
    assert "<span>0.131 ± 0.000</span> · <span>0.100 ± 0.003</span>" in summary
    assert re.search(r'<span class="differs"><abbr [^>]*>✗</abbr> 0.1490 ± 0.0040</span>', summary)
    assert re.search(r'<span class="agrees"><abbr [^>]*>✓</abbr> 0.1010 ± 0.0040</span>', summary)
    assert '<a href="#other">Other</a></th><td><span class="failed">failed</span></td>' in summary
    assert page.index("<code>anyorder claims --quick</code>") > page.index('<section id="other">')
    assert '<td data-label="printed"><span>0.131 ± 0.000</span>' in summary  # on a phone, below each other with names


def test_the_page_says_what_a_small_budget_is_worth(tmp_path):
    leads = {}
    for budget in ("tiny", "quick", "paper"):
        page = write_report(tmp_path, [], budget=budget).read_text(encoding="utf-8")
        leads[budget] = re.search(r"<header>.*?</header>", page)[0]
    assert "<strong>Budget tiny is a smoke test</strong>" in leads["tiny"]
    assert "may change at budget paper" in leads["quick"]
    assert "udget" not in leads["paper"]


def test_counts_of_parameters_are_judged_and_lead_to_their_erratum(tmp_path):
    sections = []
    for id in ("table-1", "parameters"):
        ran = Ran(EXPERIMENTS[id], Record(EXPERIMENTS[id].run(Task("tiny")), "tiny", 1, {}))
        sections.append(section(tmp_path, ran))
    summary = write_report(tmp_path, sections).read_text(encoding="utf-8").split("<main>")[0]
    assert summary.count("Erratum E6</a>") == 2
    assert summary.count("Erratum E12</a>") == 1
    assert "1 of 2 agree" in summary  # the totals of App. I
    assert "1 of 3 agree" in summary  # of Table 1, those that were counted
    assert "<span>5,025</span>" in summary
    assert re.search(r'<span class="differs"><abbr [^>]*>✗</abbr> 5,055</span>', summary)
    assert "anyorder claims E6" in sections[1].errata["Erratum E6"]


def test_an_erratum_that_the_ledger_lacks_is_one_line(tmp_path):
    experiment = dataclasses.replace(EXPERIMENTS["parameters"], errata=("E666",))
    with pytest.raises(InputError, match="no erratum 'E666' of parameters in its ledger; did you mean E6"):
        section(tmp_path, Ran(experiment, Record(Result({}), "tiny", 1, {})))


def test_one_reading_is_judged_where_the_experiment_names_it(tmp_path):
    row = {"preset": "published", "excess": 0.1, "over_clean": 0.2, "printed": "0.10", "excess_agrees": True}
    result = Result({"excess": Table("Both.", [row | {"over_clean_agrees": False}])}, preset="published")
    found = section(tmp_path, Ran(EXPERIMENTS["token-noise"], Record(result, "tiny", 1, {})))
    assert [one.column for one in judged(found)] == ["over clean"]
    assert found.verdict == ("0 of 1 agree", False)


def test_the_summary_has_the_statement_where_no_number_is_printed(tmp_path):
    result = Result({}, notes=("The best cell is x_n.",))
    found = section(tmp_path, Ran(EXPERIMENTS["grid"], Record(result, "tiny", 1, {})))
    summary = write_report(tmp_path, [found]).read_text(encoding="utf-8").split("<main>")[0]
    assert "The paper says: Settings are searched on a grid" in summary
    assert "To note: The best cell is x<sub>n</sub>." in summary
