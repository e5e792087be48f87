"""Verdicts follow from comparisons."""

from __future__ import annotations

import numpy as np

from anyorder.papers.entry import Verdict, judge


def test_a_verdict_follows_from_its_comparisons():
    assert judge({}, printed=True, decisive=False, note="n").verdict is Verdict.CONSISTENT
    assert judge({}, printed=True, note="n").verdict is Verdict.HOLDS
    assert judge({}, printed=np.False_, corrected=np.True_, correction="c").detail == "c"
    assert judge({}, printed=False, corrected=False, correction="c").verdict is Verdict.FAILS
    assert judge({}, printed=False, failure="f").detail == "f"
    assert judge({}, printed=False, trend=np.True_, difference="d").verdict is Verdict.TREND
    assert judge({}, printed=False, trend=True, difference="d").detail == "d"
    assert judge({}, printed=True, trend=True).verdict is Verdict.HOLDS
