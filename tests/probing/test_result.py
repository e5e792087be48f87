"""A result as JSON, and as it prints."""

import json

from anyorder.probing import as_json, probe
from tests.probing import heads
from tests.probing.heads import FEW, with_heads


def test_the_json_has_the_keys_that_are_promised_and_no_nan():
    found = probe(with_heads(heads.uniform, lambda row: heads.induction(row, 2)), FEW)
    assert repr(found) == "Probed('callable', 1 of 2 heads match: [0, 1] of order 2)"
    assert "<th>layer 0, head 1</th><td>of order 2, contrast" in found._repr_html_()
    report = as_json(found, maps=True)
    assert {"heads", "behaviour", "controls", "settings"} <= set(report)
    for head in report["heads"]:
        assert {"layer", "head", "order", "graded", "spectrum", "spectrum_error", "sink_mass", "scores"} <= set(head)
    assert [head["order"] for head in report["heads"]] == [None, 2]
    assert json.loads(json.dumps(report, allow_nan=False)) == report
    (kept,) = report["maps"]["heads"]
    assert all(abs(sum(row) - 1000) <= len(row) for row in kept["thousandths"])
