"""Statements about one layer of Mamba, judged by the rules of docs/markov-to-laplace.md.

Every number over seeds has its 95% interval by Student's t, in brackets.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path

from anyorder.io.atomic import Row, Tables
from anyorder.papers.entry import Finding, Numbers, claim, judge, too_few
from anyorder.papers.ledger import Ledger
from anyorder.papers.markov_to_laplace.experiments import CERTIFIED, LEARNS, MAMBA, MISSES, ONE, TWO

#: The learnt β agrees with that of the prior if its interval is within this factor of it.
FACTOR = 1.25


def _rows(tables: Tables, model: str) -> list[Row]:
    return [row for row in tables["window"] if row["model"] == model]


def _shares(rows: Sequence[Row]) -> Numbers:
    """The share of every row with its interval."""
    shown: dict[str, list[float]] = {}
    for row in rows:
        taps = "" if row["taps"] is None else f", w = {row['taps']}"
        shown[f"k = {row['order']}{taps}"] = row["share"].with_interval
    return {"share and its interval": shown, "seeds": _seeds(rows)}


def _seeds(rows: Sequence[Row]) -> int:
    return min((len(row["share"].seeds) for row in rows), default=0)


def _unmeasured(rows: Sequence[Row]) -> str:
    """Why Mamba is not judged: too few seeds, or one of the three orders is missing."""
    missing = sorted({1, 2, 3} - {row["order"] for row in rows})
    return f"order {missing[0]} is missing" if missing else too_few(_seeds(rows))


def _learns(row: Row) -> bool:
    return bool(row["share"].interval[1] < LEARNS)


def _misses(row: Row) -> bool:
    return bool(row["share"].interval[0] > MISSES)


@claim("Abstract, Sec. 3", "One layer of Mamba learns add-β smoothing at orders 1, 2 and 3.")
def learns_smoothing(window: Tables) -> Finding:
    """Refuted by one order at which the interval of the share with w = k + 1 is not entirely below the threshold."""
    rows = [row for row in _rows(window, MAMBA) if row["taps"] == row["order"] + 1]
    return judge(
        _shares(rows),
        unmeasured=_unmeasured(rows),
        printed=all(map(_learns, rows)),
        refutation=f"refuted if a share with w = k + 1 reaches {LEARNS:g}",
        failure=f"a share with w = k + 1 reaches {LEARNS:g}",
    )


@claim("Sec. 4", "A convolution over w = k + 1 tokens is enough for order k, and one over k is not.")
def window_threshold(window: Tables) -> Finding:
    """Refuted by a window of k + 1 tokens or more that does not learn, or a shorter one that does not miss."""
    rows = _rows(window, MAMBA)
    enough = [row for row in rows if row["taps"] > row["order"]]
    short = [row for row in rows if row["taps"] <= row["order"]]
    one_less = [row for row in short if row["taps"] == row["order"]]
    return judge(
        _shares(rows),
        unmeasured=_unmeasured(enough) or _unmeasured(one_less),
        printed=all(map(_learns, enough)) and all(map(_misses, short)),
        trend=all(map(_learns, enough)) and not any(map(_learns, short)),
        refutation=f"refuted if a share with w > k reaches {LEARNS:g}, or one with w ≤ k begins below {MISSES:g}",
        difference=f"no window w ≤ k learns, but a share of one begins below {MISSES:g}",
        failure=f"a share with w > k reaches {LEARNS:g}, or one with w ≤ k stays below it",
    )


@claim("Sec. 3, the role of convolution", "Without convolution one layer of Mamba fails.")
def needs_convolution(window: Tables) -> Finding:
    """Refuted by one order at which w = 1 has a share whose interval begins below the threshold."""
    rows = [row for row in _rows(window, MAMBA) if row["taps"] == 1]
    return judge(
        _shares(rows),
        unmeasured=_unmeasured(rows),
        printed=all(map(_misses, rows)),
        refutation=f"refuted if a share with w = 1 begins below {MISSES:g}",
        failure=f"a share with w = 1 begins below {MISSES:g}",
    )


@claim("Sec. 3, Fig. 1", "One layer of attention does not learn the smoothing, two layers do.")
def attention_needs_two(window: Tables) -> Finding:
    """Refuted by one layer of attention that does not miss, or two that do not learn."""
    one, two = _rows(window, ONE), _rows(window, TWO)
    numbers: Numbers = {
        "one layer": _shares(one)["share and its interval"],
        "two": _shares(two)["share and its interval"],
    }
    return judge(
        numbers,
        unmeasured=too_few(min(_seeds(one), _seeds(two))),
        printed=all(map(_misses, one)) and all(map(_learns, two)),
        refutation=f"refuted if a share of one layer begins below {MISSES:g}, or one of two layers reaches {LEARNS:g}",
        failure="one layer does not miss, or two do not learn",
    )


@claim("Sec. 4, representation", "A recurrence with a short convolution represents add-β smoothing exactly.")
def certified_beside(window: Tables) -> Finding:
    """Refuted if the certified `recurrent-bayes` differed from the floor by more than rounding at any order."""
    gaps = {f"k = {row['order']}": row["gap"].mean for row in _rows(window, CERTIFIED)}
    trained = [row for row in _rows(window, MAMBA) if row["taps"] == row["order"] + 1]
    beside = {f"k = {row['order']}": row["gap"].with_interval for row in trained}
    return judge(
        {"gap of recurrent-bayes": gaps, "gap of Mamba and its interval": beside},
        printed=len(gaps) > 0 and all(abs(gap) < 1e-9 for gap in gaps.values()),
        note="our own construction with k + 1 taps, no trained model",
        refutation="refuted by a gap beyond rounding",
        failure="the construction is not the Bayes predictor",
    )


@claim("Sec. 3, Fig. 1", "The layer adds the β of its prior.")
def adds_beta(beta: Tables) -> Finding:
    """Refuted by an interval of learnt β that leaves that of the prior by more than the factor."""
    rows = beta["beta"]
    learnt = {f"k = {row['order']}, β = {row['prior_beta']:g}": row["learnt_beta"] for row in rows}
    near = [
        row["prior_beta"] / FACTOR < row["learnt_beta"].interval[0]
        and row["learnt_beta"].interval[1] < row["prior_beta"] * FACTOR
        for row in rows
    ]
    means = [row["learnt_beta"].mean for row in sorted(rows, key=lambda row: row["prior_beta"]) if row["order"] == 1]
    seeds = min(len(one.seeds or []) for one in learnt.values())
    return judge(
        {
            "learnt β and its interval": {name: one.with_interval for name, one in learnt.items()},
            "seeds": seeds,
        },
        unmeasured=too_few(seeds) or ("" if len(means) > 1 else "there is one prior"),
        printed=all(near),
        trend=means == sorted(means),
        refutation=f"refuted if an interval leaves [β/{FACTOR:g}, {FACTOR:g}β]",
        difference=f"the learnt β rises with that of the prior, but an interval leaves [β/{FACTOR:g}, {FACTOR:g}β]",
        failure="the learnt β does not follow that of the prior",
    )


LEDGER = Ledger({"One layer of Mamba": [sys.modules[__name__]]}, {}, Path(__file__).with_name("recorded.json"))
