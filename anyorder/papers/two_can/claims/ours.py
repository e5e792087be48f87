"""Our own statements, not the paper's: chains of unknown order, and models trained on them."""

from __future__ import annotations

from functools import partial

from anyorder.errors import require
from anyorder.io.atomic import Tables
from anyorder.papers.entry import Finding, claim, judge
from anyorder.papers.own.unknown_order import ATTENTION, NEAR, ONE, RECIPE_NAME
from anyorder.training.config import Data
from anyorder.training.reference import evaluation_set

#: Sequences on which floors are measured.
COUNT = 4096


def _floor(data: Data, *, excess: float, above: float) -> Finding:
    """The Bayes floor of a source of unknown order, and every fixed order next to it.

    Exact expectations on fresh chains; differences are paired.
    """
    found = evaluation_set(data, COUNT, 0).reference
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
        correction="the floor lies below every fixed order, but by other amounts",
        failure="a fixed order is as good as the mixture",
    )


ours_order_mixture = claim(
    "ours, not the paper's: unknown order",
    "Two symbols, T = 64, the order uniform on 1, 2, 3: the Bayes mixture over orders has an excess of 0.068 nats, "
    "and the best add-one smoothing of a fixed order lies 0.010 above it.",
)(partial(_floor, Data(prior="order-mixture", length=64), excess=0.068, above=0.010))

ours_context_trees = claim(
    "ours, not the paper's: unknown order",
    "Two symbols, T = 64, random context trees of depth 3: context-tree weighting has an excess of 0.050 nats, and "
    "the best add-one smoothing of a fixed order lies 0.012 above it.",
)(partial(_floor, Data(prior="tree", depth=3, length=64), excess=0.050, above=0.012))


@claim(
    "ours, not the paper's: unknown order",
    "Two layers with four heads come within 0.002 nats of the Bayes mixture over the orders 1, 2, 3 at T = 64; one "
    "layer, and two layers without MLPs, stay above the best fixed order.",
    see=("ours-order-mixture",),
)
def ours_trained_unknown_order(unknown_order: Tables) -> Finding:
    """Gaps of the trained models of the experiment: the largest over seeds is judged.

    The error of a gap is that of the evaluation set.
    """
    require("gaps" in unknown_order, "the results have no table 'gaps'; run the experiment again")
    rows = [row for row in unknown_order["gaps"] if row["source"] == "order-mixture"]
    shown = {row["model"]: row for row in rows if (row["K"], row["T"]) == (3, 64)}
    missing = [name for name in (RECIPE_NAME, ONE, ATTENTION) if name not in shown]
    require(not missing, f"the results have no row of {', '.join(missing)}; run the experiment again")
    recipe, others = shown[RECIPE_NAME], [shown[ONE], shown[ATTENTION]]
    above = all(min(row["gap"].seeds) > row["best_fixed_order"] for row in others)
    largest = max(recipe["gap"].seeds)
    made = [row for row in rows if row["model"] == RECIPE_NAME]
    return judge(
        {
            "gap of four heads": recipe["gap"].mean,
            "its standard deviation over seeds": recipe["gap"].std,
            "largest over seeds": largest,
            "seeds": len(recipe["gap"].seeds),
            "its error": recipe["gap_error"],
            "gap of one layer, and of attention only": [row["gap"].mean for row in others],
            "best fixed order": recipe["best_fixed_order"],
            "K and T": [[row["K"], row["T"]] for row in made],
            "gap of four heads there": [row["gap"].mean for row in made],
        },
        printed=largest <= NEAR and above,
        corrected=largest < recipe["best_fixed_order"] and above,
        correction="four heads do better than every fixed order, and not within 0.002 nats of the mixture",
        failure="four heads are no better than a fixed order, or one layer is",
    )
