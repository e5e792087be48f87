"""What is said about differences to print: read off the recorded tables, not written by hand."""

import copy

from anyorder.experiments import recorded
from anyorder.report.differences import PARAGRAPHS, differences
from anyorder.report.recorded import RECORDED


def tables():
    found = {id: recorded.read_recorded(id) for id in RECORDED}
    return {id: {name: table["rows"] for name, table in one["tables"].items()} for id, one in found.items() if one}


def test_every_experiment_with_printed_numbers_has_a_paragraph():
    assert len(differences(tables())) == len(PARAGRAPHS.keys() & tables().keys())


def test_paragraphs_follow_the_tables():
    before = tables()
    after = copy.deepcopy(before)
    row = after["depth"]["excess"][0]
    row["excess_mean"], row["excess_agrees"] = 0.7654, not row["excess_agrees"]
    (old, *_), (new, *_) = differences(before), differences(after)
    assert "0.7654" in new
    assert "0.7654" not in old
    assert ("agree;" in old) != ("agree;" in new)


def test_a_bound_that_print_passes_is_said_and_one_that_it_keeps_is_not():
    found = tables()
    (paragraph,) = differences({"transition-noise": found["transition-noise"]})
    assert "print is below the Bayes floor" in paragraph
    for row in found["transition-noise"]["excess"]:
        row["floor"] = 0.0
    (paragraph,) = differences({"transition-noise": found["transition-noise"]})
    assert "print is below the Bayes floor" not in paragraph


def test_a_bound_is_not_held_against_a_level_that_agrees():
    """At 0.5 reading B agrees by the rule with both kinds of noise, although print is below the bound."""
    found = tables()
    for id, end in (("token-noise", "): no mean over kernels"), ("transition-noise", "). The law")):
        (paragraph,) = differences({id: found[id]})
        assert "at 0.25" + end in paragraph
        row = found[id]["excess"][-1]
        assert row["over_clean_agrees"]
        row["over_clean_agrees"] = False
        (paragraph,) = differences({id: found[id]})
        assert "at 0.5" + end in paragraph
