"""Statements of our own, not of the paper: chains of unknown order."""

from __future__ import annotations

from anyorder.claims.entry import Finding, claim, judge
from anyorder.training.config import Data
from anyorder.training.evaluation import evaluation_set, reference

#: Sequences on which floors are measured.
COUNT = 4096


@claim(
    "ours-order-mixture",
    "ours, not the paper's: unknown order",
    "Two symbols, T = 64, the order uniform on 1, 2, 3: the Bayes mixture over orders has an excess of 0.068 nats, "
    "and the best add-one smoothing of a fixed order lies 0.010 above it.",
)
def order_mixture() -> Finding:
    """Exact expectations on fresh chains; the difference is paired."""
    return _floor(Data(prior="order-mixture", length=64), excess=0.068, above=0.010)


@claim(
    "ours-context-trees",
    "ours, not the paper's: unknown order",
    "Two symbols, T = 64, random context trees of depth 3: context-tree weighting has an excess of 0.050 nats, and "
    "the best add-one smoothing of a fixed order lies 0.012 above it.",
)
def context_trees() -> Finding:
    """Exact expectations on fresh chains; the difference is paired."""
    return _floor(Data(prior="tree", depth=3, length=64), excess=0.050, above=0.012)


def _floor(data: Data, *, excess: float, above: float) -> Finding:
    """The Bayes floor of a source of unknown order, and every fixed order next to it."""
    found = reference(evaluation_set(data, COUNT, 0))
    assert found.floor_excess is not None
    assert found.floor_excess_error is not None
    over = {one.order: one.excess - found.floor_excess for one in found.fixed_orders}
    best = min(over.values())
    return judge(
        {
            "excess of the Bayes predictor": found.floor_excess,
            "its standard error": found.floor_excess_error,
            "fixed orders": list(over),
            "nats above it": list(over.values()),
        },
        printed=abs(found.floor_excess - excess) < 4 * found.floor_excess_error and abs(best - above) < 0.002,
        corrected=best > 0,
        correction="the floor lies below every fixed order, by other numbers",
        failure="a fixed order is as good as the mixture",
    )
