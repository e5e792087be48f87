"""Run the missing runs of a sweep, and write each row to its folder as soon as the run ends."""

from __future__ import annotations

import time
from pathlib import Path
from typing import NamedTuple, Protocol, runtime_checkable

from anyorder.errors import require
from anyorder.io.atomic import locked
from anyorder.io.gates import gated
from anyorder.sweeps import cost, spec
from anyorder.sweeps.engine import Engine
from anyorder.sweeps.spec import MANY, Run, Sweep
from anyorder.sweeps.table import SweepFolder, SweepRow
from anyorder.training.versions import versions


class SweepPlan(NamedTuple):
    """The plan of a sweep: its runs, the missing ones, programs to compile, and seconds of one core."""

    table: SweepFolder
    runs: list[Run]
    missing: list[Run]
    shapes: int
    core_seconds: float


class Tally(NamedTuple):
    """The progress of a sweep; `seconds_left` is None until a run has ended, `seconds` is the workers' total time."""

    done: int
    failed: int
    running: int
    total: int
    seconds_left: float | None
    seconds: float
    rows: dict[int, SweepRow]


@runtime_checkable
class SweepWatcher(Protocol):
    """Progress callback of a sweep."""

    def __call__(self, tally: Tally, /) -> None:
        """Called at the beginning, and after every run that has ended."""


@gated
def plan_sweep(
    sweep: Sweep, folder: Path, budget: int | None = None, *, yes: bool = False, again: bool = False
) -> SweepPlan:
    """Plan a sweep without writing; `again` counts failed runs as missing, `yes` confirms more than a million runs."""
    require(budget is None or budget >= 1, f"budget is {budget}, must be at least 1; pass `budget=1` or more")
    count = sweep.count if budget is None else min(sweep.count, budget)
    require(
        yes or count <= MANY,
        f"the sweep {sweep.name} has {count:,} runs, more than {MANY:,}; thin it with `budget=N`, or pass `yes=True`",
    )
    table = SweepFolder(folder, sweep, again)
    runs = spec.runs(sweep, budget)
    missing = [run for run in runs if run.number not in table.rows]
    shapes = spec.shapes(missing)
    seconds = sum(cost.seconds(run.config) for run in missing) + cost.COMPILATION * len(shapes)
    return SweepPlan(table, runs, missing, len(shapes), seconds)


def carry_out(plan: SweepPlan, engine: Engine, watch: SweepWatcher = lambda tally: None) -> list[SweepRow]:
    """Train the missing runs; return the rows of the plan's runs, in order. An exception leaves the table valid."""
    table = plan.table
    with locked(table.folder):
        table.begin(versions())
        missing = [run for run in plan.missing if run.number not in table.rows]
        by_number, wanted = {run.number: run for run in missing}, {run.number for run in plan.runs}
        expected = {run.number: cost.seconds(run.config) for run in missing}
        spent, predicted, clock = 0.0, 0.0, time.monotonic()

        def tally() -> Tally:
            ended = [table.rows[number] for number in wanted if number in table.rows]
            failed = sum(row.ended.outcome != "done" for row in ended)
            rest = sum(seconds for number, seconds in expected.items() if number not in table.rows)
            # Estimates give ratios between runs; measured times give the scale.
            left = None if not predicted else (time.monotonic() - clock) * rest / predicted
            return Tally(len(ended) - failed, failed, engine.running, len(plan.runs), left, spent, table.rows)

        pieces = spec.chunks(missing, engine.workers, engine.most)
        # Longest first, so that the last chunks are short and all workers end together.
        pieces.sort(key=lambda piece: -sum(expected[run.number] for run in piece))
        watch(tally())
        try:
            for number, result, seconds in engine.results(pieces):
                table.add(by_number[number], result)
                spent, predicted = spent + seconds, predicted + expected[number]
                watch(tally())
        finally:
            table.sort()
        return [table.rows[run.number] for run in plan.runs]
