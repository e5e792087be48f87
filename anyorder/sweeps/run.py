"""Running a sweep into its folder: only what is missing, each row kept as it comes."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

from anyorder.sweeps import cost, spec
from anyorder.sweeps.engine import Engine
from anyorder.sweeps.spec import Run, Sweep
from anyorder.sweeps.table import Row, Table
from anyorder.training.versions import versions


class Plan(NamedTuple):
    """What a sweep would do: its runs, those that are missing, programs to compile, and seconds of one core."""

    table: Table
    runs: list[Run]
    missing: list[Run]
    shapes: int
    core_seconds: float


class Progress(NamedTuple):
    """Where a sweep stands; `seconds_left` is None until a run has ended, `seconds` are those that workers spent."""

    done: int
    failed: int
    running: int
    total: int
    seconds_left: float | None
    seconds: float
    rows: dict[int, Row]


def plan(sweep: Sweep, folder: Path, budget: int | None = None, *, sure: bool = False, again: bool = False) -> Plan:
    """Look, and touch nothing; `again` counts runs that failed as missing."""
    spec.confirm(sweep, budget, sure)
    table = Table(folder, sweep)
    if again:
        table.forget("failed")
    runs = spec.runs(sweep, budget)
    missing = [run for run in runs if run.number not in table.rows]
    shapes = spec.shapes(missing)
    seconds = sum(cost.seconds(run.config) for run in missing) + cost.COMPILATION * len(shapes)
    return Plan(table, runs, missing, len(shapes), seconds)


def carry_out(plan: Plan, engine: Engine, watch: Callable[[Progress], None] = lambda progress: None) -> list[Row]:
    """Do what is missing; gives the rows of the plan's runs, in order. An exception leaves a sound table."""
    table, by_index = plan.table, {run.number: run for run in plan.missing}
    table.begin(versions())
    wanted = {run.number for run in plan.runs}
    expected = {run.number: cost.seconds(run.config) for run in plan.missing}
    spent, predicted, clock = 0.0, 0.0, time.monotonic()

    def progress() -> Progress:
        ended = [table.rows[index] for index in wanted if index in table.rows]
        failed = sum(row["outcome"] != "done" for row in ended)
        rest = sum(seconds for index, seconds in expected.items() if index not in table.rows)
        # The estimate says how runs compare; the clock says what they really take.
        left = None if not predicted else (time.monotonic() - clock) * rest / predicted
        return Progress(len(ended) - failed, failed, engine.running, len(plan.runs), left, spent, table.rows)

    pieces = spec.chunks(plan.missing, engine.workers, engine.most)
    # The longest first: what is left at the end is short, and all workers end together.
    pieces.sort(key=lambda piece: -sum(expected[run.number] for run in piece))
    watch(progress())
    try:
        for index, result, seconds in engine.results(pieces):
            table.add([(by_index[index], result)])
            spent, predicted = spent + seconds, predicted + expected[index]
            watch(progress())
    finally:
        table.sort()
    return [table.rows[run.number] for run in plan.runs]


@contextmanager
def opened(engine: Engine) -> Iterator[Engine]:
    """The engine, closed at the end whatever happens."""
    try:
        yield engine
    finally:
        engine.close()
