"""Statements about the stages of training, judged by the rules of docs/statistical-induction.md."""

from __future__ import annotations

import sys
from pathlib import Path

from anyorder.io.atomic import Row, Tables
from anyorder.papers.entry import Finding, Numbers, claim, judge, too_few
from anyorder.papers.ledger import Ledger
from anyorder.papers.statistical_induction.experiments import DIRICHLET, DOUBLY, OURS, THEIRS


def _stages(tables: Tables, order: int, model: str) -> tuple[Numbers, int, int]:
    """Numbers of one order and model, the seeds that pass all stages, and all seeds."""
    rows = [row for row in tables["stages"] if (row["order"], row["model"]) == (order, model)]
    if not rows:
        return {}, 0, 0
    numbers: Numbers = {
        "seeds that pass all stages": rows[0]["seeds_that_pass_all"],
        "95% interval of their share": [rows[0]["share_from"], rows[0]["share_to"]],
        "stage begins": {row["strategy"]: row["begins"].mean for row in rows},
        "seeds with a stage": {row["strategy"]: row["seeds_with_a_stage"] for row in rows},
        "nearest, share of the run": {row["strategy"]: row["nearest_share_of_run"].mean for row in rows},
    }
    return numbers, rows[0]["seeds_that_pass_all"], len(rows[0]["closest"].seeds)


def _judged(numbers: Numbers, hits: int, seeds: int, said: str) -> Finding:
    never = [name for name, count in numbers.get("seeds with a stage", {}).items() if not count]  # type: ignore[union-attr]
    return judge(
        numbers | {"seeds": seeds},
        unmeasured=too_few(seeds),
        printed=hits == seeds,
        trend=2 * hits > seeds,
        refutation=f"refuted if at most half of the seeds pass through {said}, in this order",
        difference="more than half of the seeds do, not all",
        failure=f"{hits} of {seeds} seeds do" + (f"; no seed has a stage of {' or '.join(never)}" if never else ""),
    )


@claim("Abstract, Fig. 1", "Training passes from uniform to in-context unigram to in-context bigram predictions.")
def three_stages(stages: Tables) -> Finding:
    """Refuted if half of the seeds skip a strategy (no three measurements in a row) or pass them in another order."""
    return _judged(*_stages(stages, 1, OURS), "uniform, unigram and bigram")


@claim("the section on n-grams", "At order 2 the same happens order by order: uniform, unigram, bigram, trigram.")
def stages_of_order_two(stages: Tables) -> Finding:
    """Refuted as for order 1, with four strategies; judged on models of the repository."""
    return _judged(*_stages(stages, 2, THEIRS), "uniform, unigram, bigram and trigram")


@claim("the section on the prior", "Where the unigram is useless the bigram is learnt faster.")
def unigram_delays(unigram_free: Tables) -> Finding:
    """Refuted if doubly stochastic kernels come later on average; holds if the two intervals are apart."""
    models = {
        name: {row["prior"]: row for row in unigram_free["arrivals"] if row["model"] == name} for name in (THEIRS, OURS)
    }
    if not (rows := models[THEIRS]):
        return judge({}, printed=False, unmeasured="models of the repository are trained at the budget paper only")
    plain, doubly = rows[DIRICHLET], rows[DOUBLY]
    seeds = min(row["seeds_that_arrive"] for row in rows.values())
    all_seeds = min(len(row["end"].seeds) for row in rows.values())
    return judge(
        {
            f"models {name}: {prior} arrives, its interval, and seeds that arrive": [
                *row["arrives"].with_interval,
                row["seeds_that_arrive"],
            ]
            for name, priors in models.items()
            for prior, row in priors.items()
        },
        unmeasured=too_few(all_seeds),
        printed=seeds == all_seeds and doubly["arrives"].interval[1] < plain["arrives"].interval[0],
        trend=seeds >= 3 and doubly["arrives"].mean < plain["arrives"].mean,
        refutation="refuted if doubly stochastic kernels come later on average, or fewer than three seeds arrive",
        difference="earlier on average, but the intervals overlap or a seed does not arrive",
        failure="doubly stochastic kernels do not come earlier, or most seeds do not arrive",
    )


@claim("the section on the layers", "Layer 2 aligns before layer 1 has found the previous token.")
def layer_two_first(stages: Tables) -> Finding:
    """Refuted if the mean of layer 2 minus layer 1, in steps, is not negative; holds if its interval is below zero."""
    rows: list[Row] = [row for row in stages["layers"] if row["order"] == 1]
    later = rows[0]["layer_2_later"]
    return judge(
        {
            "layer 2 minus layer 1, steps, and its interval": later.with_interval,
            "layer 1": rows[0]["layer_1"].mean,
            "layer 2": rows[0]["layer_2"].mean,
            "seeds": len(later.seeds),
        },
        unmeasured=too_few(len(later.seeds)),
        printed=later.interval[1] < 0,
        trend=later.mean < 0,
        refutation="refuted if layer 2 is not earlier on average",
        difference="layer 2 is earlier on average, but the interval reaches zero",
        failure="layer 2 is not earlier: the layers reach half of their rise together, or layer 1 first",
    )


LEDGER = Ledger({"Stages of training": [sys.modules[__name__]]}, {}, Path(__file__).with_name("recorded.json"))
