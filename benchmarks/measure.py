"""Timing and printing, shared by the benchmarks."""

import json
import pathlib
import statistics
import time
from collections.abc import Callable
from typing import NamedTuple

#: Modules that are not benchmarks, or take a quarter of an hour and are run by name.
LEFT_OUT = (
    "__main__", "measure", "mixers", "training_torch", "exact_orders", "claims", "crashes", "floor", "probe_null",
)  # fmt: skip


#: Recorded ratios, by title and row: larger is better.
RECORDED = json.loads(pathlib.Path(__file__).with_name("recorded.json").read_text())


class Row(NamedTuple):
    """One line of a benchmark: its name, its value, and the goal."""

    what: str
    value: float
    unit: str = ""
    goal: str = ""


def timed(
    function: Callable[[], object], repeats: int, warm_up: int = 1, clock: Callable[[], float] = time.perf_counter
) -> list[float]:
    """Seconds of every call, after warm-up calls that compile."""
    for _ in range(warm_up):
        function()
    times = []
    for _ in range(repeats):
        start = clock()
        function()
        times.append(clock() - start)
    return times


def seconds(function: Callable[[], object], repeats: int = 20) -> float:
    """Median time of a call."""
    return statistics.median(timed(function, repeats))


def fastest(function: Callable[[], object], repeats: int) -> float:
    """Seconds of the fastest of several calls in a row: fresh memory and other processes only add to it."""
    return min(timed(function, repeats, warm_up=0))


def behind(title: str, row: Row) -> str:
    """A warning if a ratio is less than two thirds of the recorded one.

    >>> RECORDED["a title: a ratio"] = 6.0
    >>> behind("a title", Row("a ratio", 3.9, "×")), behind("a title", Row("a ratio", 4.1, "×"))
    ('   BEHIND: 6 × was recorded', '')
    """
    recorded = RECORDED.get(f"{title}: {row.what}")
    return "" if recorded is None or 3 * row.value >= 2 * recorded else f"   BEHIND: {recorded:.4g} × was recorded"


def show(title: str, rows: list[Row]) -> None:
    """Print the rows as a table, with a warning beside each ratio that has fallen behind the recorded one."""
    print(f"\n{title}")
    width = max(len(row.what) for row in rows)
    for row in rows:
        goal = f"   (goal {row.goal})" if row.goal else ""
        print(f"  {row.what:<{width}}  {row.value:>10.4g} {row.unit}{goal}{behind(title, row)}")
