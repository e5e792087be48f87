"""Statements about phases, judged by the rules of docs/competition.md. Intervals are over seeds, 95% by Student's t."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from anyorder.io.atomic import Row, Tables
from anyorder.papers.competition.experiments import FOUR, INFERENCE, RETRIEVAL, UNIGRAMS
from anyorder.papers.entry import Finding, Numbers, claim, judge, too_few
from anyorder.papers.figure_data import grouped
from anyorder.papers.ledger import Ledger
from anyorder.sweeps.analysis import Spread, spread

#: Inference is transient if its weight falls by more than this, with the whole interval.
FALL = 0.1
#: A model has started to learn when its gap is at most this share of the gap of the uniform distribution.
BEGUN = 0.9


def _lead(row: Row) -> Spread:
    """The lead of retrieval per seed: the weight of bigram retrieval minus that of bigram inference."""
    return spread(np.subtract(row[RETRIEVAL].seeds, row[INFERENCE].seeds))


def _by_pool(tables: Tables) -> dict[int, list[Row]]:
    """The rows of each pool size, by step."""
    return {
        size: sorted(rows, key=lambda row: row["step"]) for size, rows in grouped(tables["weights"], "chains").items()
    }


def _begun(rows: list[Row]) -> list[Row]:
    """The rows of a pool once something is learnt."""
    return [row for row in rows[1:] if row["pool_gap"].mean <= BEGUN * rows[0]["pool_gap"].mean]


def _unmeasured(pools: dict[int, list[Row]]) -> str:
    """Why phases are not judged: too few seeds."""
    return too_few(min(len(row["pool_gap"].seeds) for rows in pools.values() for row in rows))


@claim("phases at low diversity", "From few chains a model ends by retrieving the chain.")
def few_are_retrieved(phase_map: Tables) -> Finding:
    """Refuted if the interval of retrieval's lead at the end of training reaches zero at the smallest pool."""
    pools = _by_pool(phase_map)
    lead = _lead(pools[min(pools)][-1])
    return judge(
        {"N": min(pools), "lead of retrieval and its interval": lead.with_interval, "seeds": len(lead.seeds or [])},
        unmeasured=_unmeasured(pools),
        printed=lead.interval[0] > 0,
        refutation="refuted if the interval of the lead reaches zero",
        failure="retrieval does not lead at the smallest pool",
    )


@claim("phases at high diversity", "From many chains a model ends by inferring the chain in context.")
def many_are_inferred(phase_map: Tables) -> Finding:
    """Refuted if the interval of retrieval's lead at the end of training reaches zero at the largest pool."""
    pools = _by_pool(phase_map)
    lead = _lead(pools[max(pools)][-1])
    return judge(
        {"N": max(pools), "lead of retrieval and its interval": lead.with_interval, "seeds": len(lead.seeds or [])},
        unmeasured=_unmeasured(pools),
        printed=lead.interval[1] < 0,
        refutation="refuted if the interval of the lead reaches zero",
        failure="inference does not lead at the largest pool",
    )


@claim("the order of phases", "Unigram algorithms come before bigram ones.")
def unigrams_first(phase_map: Tables) -> Finding:
    """Refuted if, once learning has started, unigrams exceed half of the weight in at most half of the pools."""
    found: dict[str, list[float | None]] = {}
    first, pools = {}, _by_pool(phase_map)
    for size, rows in pools.items():
        sums = {row["step"]: spread(np.add(*(row[name].seeds for name in UNIGRAMS))) for row in _begun(rows)}
        most = max(sums, key=lambda step: sums[step].mean or 0.0, default=None)
        if most is not None:
            found[f"N = {size}, step {most}"] = sums[most].with_interval
            first[size] = sums[most].interval[0] > 0.5 and sums[max(sums)].interval[1] < 0.5
    return judge(
        {"largest weight of unigrams and its interval": found},
        unmeasured=_unmeasured(pools) or ("" if first else "nothing is learnt yet"),
        printed=all(first.values()),
        trend=sum(first.values()) * 2 > len(first),
        refutation="refuted if at most half of the pool sizes have a unigram phase that ends",
        difference="more than half of the pool sizes have a unigram phase that ends, not all",
        failure="at most half of the pool sizes have a unigram phase that ends",
    )


@claim("four phases", "Each of the four algorithms leads somewhere on the map.")
def each_leads_somewhere(phase_map: Tables) -> Finding:
    """Refuted if one of the four never leads once something is learnt; each case is the cell of its largest lead."""
    pools = _by_pool(phase_map)
    largest: dict[str, list[float | None]] = {}
    never = []
    for name, shown in FOUR.items():
        leads = {}
        for row in (row for rows in pools.values() for row in _begun(rows)):
            best_other = np.max([row[other].seeds for other in FOUR if other != name], axis=0)
            leads[f"{shown}: N = {row['chains']}, step {row['step']}"] = spread(row[name].seeds - best_other)
        if leads:
            place = max(leads, key=lambda cell: leads[cell].interval[0])
            largest[place] = leads[place].with_interval
            never += [shown] if leads[place].interval[0] <= 0 else []
    return judge(
        {"largest lead over the other three and its interval": largest},
        unmeasured=_unmeasured(pools) or ("" if largest else "nothing is learnt yet"),
        printed=not never,
        refutation="refuted if one of the four has no cell where its lead over the other three has an interval above 0",
        failure=f"{' and '.join(never)} leads nowhere",
    )


@claim("transience", "At medium diversity inference comes first, and retrieval replaces it.")
def inference_is_transient(phase_map: Tables) -> Finding:
    """Refuted if at no medium N the weight of inference falls after its peak while the loss on novel chains rises."""
    numbers: Numbers = {}
    falls, replaced, pools = [], [], _by_pool(phase_map)
    for size, rows in sorted(pools.items())[1:-1]:
        peak = max(rows[1:], key=lambda row: row[INFERENCE].mean)
        fall = spread(np.subtract(peak[INFERENCE].seeds, rows[-1][INFERENCE].seeds))
        rise = spread(np.subtract(rows[-1]["novel_gap"].seeds, peak["novel_gap"].seeds))
        numbers[f"N = {size}, peak at step {peak['step']}"] = {
            "fall of inference": fall.with_interval,
            "rise of the loss on novel chains": rise.with_interval,
        }
        if fall.interval[0] > FALL and rise.interval[0] > 0:
            falls.append(size)
            if _lead(peak).interval[1] < 0 < _lead(rows[-1]).interval[0]:
                replaced.append(size)
    return judge(
        numbers | {"transient at N": falls, "replaced at N": replaced},
        unmeasured=_unmeasured(pools) or ("" if len(pools) > 2 else "there is no medium pool size"),
        printed=len(replaced) > 0,
        trend=len(falls) > 0,
        refutation=f"refuted if at no medium N inference loses {FALL:g} of weight while the loss on novel chains rises",
        difference="inference loses weight and the loss on novel chains rises, but retrieval does not take the lead",
        failure="at no medium pool size does inference lose weight while the loss on novel chains rises",
    )


def _end(tables: Tables, layers: int, dimension: int, chains: int) -> Row | None:
    wanted = (layers, dimension, chains)
    found = [row for row in tables["weights"] if (row["layers"], row["dimension"], row["chains"]) == wanted]
    return found[0] if found else None


def _compared(tables: Tables, kinds: dict[str, tuple[int, int]], chains: int, name: str, said: str) -> Finding:
    """Whether the first kind of model gives a predictor more weight than the second, with disjoint intervals."""
    rows = {label: _end(tables, *kind, chains) for label, kind in kinds.items()}
    weights = {label: row[name] for label, row in rows.items() if row is not None}
    refutation = "refuted if the means are equal or reversed"
    if len(weights) < 2:
        return judge({}, printed=False, unmeasured="one of the two models is missing", refutation=refutation)
    more, less = weights.values()
    return judge(
        {f"weight at N = {chains} and its interval": {label: one.with_interval for label, one in weights.items()}},
        unmeasured=too_few(min(len(one.seeds) for one in weights.values())),
        printed=more.interval[0] > less.interval[1],
        trend=more.mean > less.mean,
        refutation=refutation,
        difference=f"{said} on average, but the intervals overlap",
        failure=f"{' and '.join(weights)} do not differ in this direction",
    )


@claim("architecture, depth", "Two layers infer bigrams more than one layer does, at the largest pool.")
def depth_matters(architecture: Tables) -> Finding:
    """Refuted if one layer gives bigram inference as much weight or more; holds if the intervals are apart."""
    chains = max(row["chains"] for row in architecture["weights"])
    kinds = {"two layers": (2, 32), "one layer": (1, 32)}
    return _compared(architecture, kinds, chains, INFERENCE, "two layers infer more")


@claim("architecture, width", "A wider model retrieves from larger pools: more at N = 8.")
def width_matters(architecture: Tables) -> Finding:
    """Refuted if the narrow model gives bigram retrieval as much weight or more; holds if the intervals are apart."""
    return _compared(
        architecture, {"d = 32": (2, 32), "d = 16": (2, 16)}, 8, RETRIEVAL, "the wide model retrieves more"
    )


def border(rows: Sequence[Row]) -> list[float]:
    """log₂ of the pool size at which retrieval and inference have equal weight, for each seed that has one.

    Interpolated linearly between the first neighbouring pools that lead in different ways.
    """
    ordered = sorted(rows, key=lambda row: row["chains"])
    sizes = np.log2([row["chains"] for row in ordered])
    found = []
    for leads in zip(*(_lead(row).seeds or [] for row in ordered), strict=True):
        at = next((place for place in range(len(leads) - 1) if leads[place] > 0 >= leads[place + 1]), None)
        if at is not None:
            share = leads[at] / (leads[at] - leads[at + 1])
            found.append(float(sizes[at] + share * (sizes[at + 1] - sizes[at])))
    return found


@claim("architecture, borders", "Depth and width move the border between retrieval and inference.")
def architecture_moves_the_border(architecture: Tables) -> Finding:
    """Refuted if neither the border of three layers nor that of d = 16 is apart from that of two layers, d = 32."""
    kinds = {"two layers, d = 32": (2, 32), "three layers": (3, 32), "d = 16": (2, 16)}
    borders = {
        label: spread(border([row for row in architecture["weights"] if (row["layers"], row["dimension"]) == kind]))
        for label, kind in kinds.items()
    }
    base, *others = (one.interval for one in borders.values())
    moved = [low > base[1] or high < base[0] for low, high in others]
    seeds = min(len(one.seeds or []) for one in borders.values())
    return judge(
        {
            "log₂ N of the border and its interval": {label: one.with_interval for label, one in borders.items()},
            "seeds with a border": seeds,
        },
        unmeasured=too_few(seeds),
        printed=all(moved),
        trend=any(moved),
        refutation="refuted if the intervals of three layers and of d = 16 both overlap that of two layers with d = 32",
        difference="only one of depth and width moves the border, by its interval",
        failure="neither depth nor width moves the border by its interval",
    )


LEDGER = Ledger({"Phases": [sys.modules[__name__]]}, {}, Path(__file__).with_name("recorded.json"))
