"""The theorem for any order: its verdict follows from its assumption."""

import numpy as np

from anyorder.papers.entry import Verdict
from anyorder.papers.two_can.claims import preconditioned


def test_the_any_order_theorem_is_vacuous_only_while_no_chain_meets_its_assumption(monkeypatch):
    monkeypatch.setattr(preconditioned, "any_order_assumption", lambda: ({}, False))
    monkeypatch.setattr(preconditioned, "mean_scores", lambda prior, count: None)
    monkeypatch.setattr(preconditioned, "_ends", lambda scores, order: np.full(order, 1 / order))
    monkeypatch.setattr(preconditioned, "_distances", lambda order, prior, p: np.array([0.1, 0.01]))
    assert preconditioned.thm_any_order.measure().verdict is Verdict.VACUOUS
    monkeypatch.setattr(preconditioned, "any_order_assumption", lambda: ({}, True))
    assert preconditioned.thm_any_order.measure().verdict is Verdict.CORRECTED
    monkeypatch.setattr(preconditioned, "_distances", lambda order, prior, p: np.array([0.01, 0.1]))
    assert preconditioned.thm_any_order.measure().verdict is Verdict.HOLDS
