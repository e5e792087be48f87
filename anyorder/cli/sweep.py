"""`anyorder sweep`, and `anyorder show` for the folder of a sweep."""

from __future__ import annotations

import time
from collections.abc import Mapping
from contextlib import closing
from pathlib import Path
from typing import Annotated, Literal

import tyro
from rich.console import Console, Group, RenderableType
from rich.live import Live

from anyorder import io, sweeps
from anyorder.cli.command import Command, Outcome, facts, table
from anyorder.errors import require
from anyorder.io import plugins
from anyorder.io.gates import Gate
from anyorder.sweeps.analysis import Spread
from anyorder.training import devices

#: Seconds between two lines of progress where there is no terminal.
QUIET = 10.0
#: Cells in the live table of the best.
BEST = 5


class SweepCommand(Command):
    """Train a grid of runs into one table: from a TOML file, or by name (paper-grid, phase, learning-rate).

    Examples:
      anyorder sweep learning-rate --out rates
      anyorder sweep grid.toml --out grid --dry-run
      anyorder sweep paper-grid --budget 200 --out paper
      anyorder sweep phase --engine ray --address head:6379 --out phase
      anyorder show rates

    The same command, repeated, trains only missing runs; a larger --budget adds runs.
    """

    next = "anyorder show {out}"
    source: Annotated[str, tyro.conf.Positional, tyro.conf.arg(metavar="FILE|NAME"), Gate("read")]
    """A TOML file (see docs/sweeps.md), or paper-grid, phase or learning-rate."""
    out: Annotated[str | None, Gate("fill")] = None
    """Folder for sweep.json and runs.jsonl: new, empty, or already used by this sweep."""
    engine: Literal["local", "ray"] = "local"
    """local: one worker process per core. ray: tasks on a Ray cluster."""
    address: str | None = None
    """A running Ray cluster: HOST:PORT, ray://HOST:PORT or auto; without it Ray is started on this machine."""
    workers: int | None = None
    """Concurrent runs on this machine; by default one for each core."""
    budget: int | None = None
    """Largest number of runs, spread over the grid; a larger budget later adds runs."""
    retry_failed: bool = False
    """Also repeat failed runs; diverged runs would diverge again."""
    dry_run: bool = False
    """Print the plan without training."""
    yes: bool = False
    """Allow more than a million runs."""

    def next_step(self, report: Mapping[str, object]) -> str:
        """The suggested next command; after a dry run, the sweep itself."""
        if self.dry_run:
            return f"anyorder sweep {self.source} --out {self.out or report['sweep']}" + plugins.flags()
        return super().next_step(report)

    def run(self) -> Outcome:
        """Plan, estimate the time, run, and tabulate."""
        sweep = sweeps.builtin.find(self.source)
        require(self.out is not None or self.dry_run, "pass --out DIR for the table of the sweep, or --dry-run")
        require(
            self.address is None or self.engine == "ray", f"--address {self.address} without Ray; pass --engine ray"
        )
        folder = Path(self.out or f"{sweep.name}.sweep")
        planned = sweeps.plan_sweep(sweep, folder, self.budget, yes=self.yes, again=self.retry_failed)
        workers = None if self.address is not None else self.workers or devices.cores()
        about = {
            "sweep": sweep.name,
            "grid": sweep.count,
            "runs": len(planned.runs),
            "missing": len(planned.missing),
            "shapes": planned.shapes,
            "core_seconds_estimated": planned.core_seconds,
            "workers": workers,
        }
        if self.dry_run:
            return Outcome(about, _said(sweep, planned, workers))
        clock, spent = time.monotonic(), 0.0
        console = Console(stderr=True)
        rows = [planned.table.rows[run.number] for run in planned.runs if run.number in planned.table.rows]
        if planned.missing or io.atomic.interrupted(folder):  # a killed command may have left its table unsorted
            with io.atomic.locked(folder):  # a folder in use is rejected before workers start
                pass
            try:
                # If no cluster answers, print that error alone.
                with closing(self._engine()) as engine, _Live(sweep, console) as live:
                    console.print(_said(sweep, planned, engine.workers), highlight=False)
                    rows = sweeps.carry_out(planned, engine, live.show)
                    spent = live.seconds
            except KeyboardInterrupt:
                done, total = sum(run.number in planned.table.rows for run in planned.runs), len(planned.runs)
                raise KeyboardInterrupt(
                    f"interrupted with {done} of {total} runs in {folder}; the same command resumes there"
                ) from None
        report, shown = summary(sweep, rows)
        took = {"seconds": time.monotonic() - clock, "worker_seconds": spent}
        return Outcome({"out": str(folder), **about, **took, **report}, Group(shown, f"table: {folder}/runs.jsonl"))

    def _engine(self) -> sweeps.Engine:
        return sweeps.Ray(self.address, self.workers) if self.engine == "ray" else sweeps.Local(self.workers)


def _said(sweep: sweeps.Sweep, planned: sweeps.SweepPlan, workers: int | None) -> str:
    """The line that announces a sweep."""
    runs, seconds = len(planned.runs), planned.core_seconds
    of = "" if runs == sweep.count else f" of {sweep.count:,}"
    done = runs - len(planned.missing)
    words = f"{sweep.name}: {runs:,} runs{of}" + (f", {done:,} of them done" if done else "")
    if planned.missing:
        words += f"; compiled shapes: {planned.shapes:,}, about {duration(seconds)} of one core"
        if workers:
            words += f", {duration(seconds / workers)} with {workers} workers"
    return words


def duration(seconds: float) -> str:
    """A duration as text.

    >>> duration(42.0), duration(600.0), duration(2e4), duration(1e7)
    ('42 s', '10 min', '5.6 h', '116 days')
    """
    for unit, length, digits in (("days", 86400, 0), ("h", 3600, 1), ("min", 60, 0)):
        if seconds >= 2 * length:
            return f"{seconds / length:.{digits}f} {unit}"
    return f"{seconds:.0f} s"


class _Live(Live):
    """The progress of a sweep on standard error: redrawn on a terminal, occasional lines elsewhere."""

    def __init__(self, sweep: sweeps.Sweep, console: Console) -> None:
        super().__init__(console=console, transient=True)
        self._sweep, self._last, self.seconds = sweep, time.monotonic(), 0.0

    def show(self, tally: sweeps.Tally) -> None:
        """Numbers of finished, failed, running and missing runs, and the best cells so far."""
        self.seconds = tally.seconds
        left = "" if tally.seconds_left is None else f", {duration(tally.seconds_left)} left"
        line = f"{tally.done}/{tally.total} done, {tally.failed} failed or diverged, {tally.running} running" + left
        now = time.monotonic()
        # Ranking all rows for every row would be slow on large grids.
        if self.console.is_terminal and (now - self._last > 1.0 or tally.total < 1000):
            self._last = now
            self.update(Group(line, best_table(self._sweep, list(tally.rows.values()))))
        elif not self.console.is_terminal and (now - self._last > QUIET or tally.done + tally.failed == tally.total):
            self._last = now
            self.console.print(line, highlight=False)


def best_table(sweep: sweeps.Sweep, rows: list[sweeps.SweepRow]) -> RenderableType:
    """The best cells by the metric of the sweep."""
    from anyorder.report.tables import shown

    best = []
    for cell in sweeps.ranking(sweep, rows)[:BEST]:
        values = [f"{value:g}" if isinstance(value, float) else str(value) for value in cell.values.values()]
        best.append((*values, shown(Spread(cell.mean, cell.deviation)), f"{len(cell.metric)}/{cell.runs}"))
    return table({name.replace("_", " "): "" for name in (*sweep.axes, sweep.metric, "seeds")}, best)


def summary(sweep: sweeps.Sweep, rows: list[sweeps.SweepRow]) -> tuple[dict[str, object], RenderableType]:
    """A summary of the rows: counts, reasons of failure, the best cells and the command of the best."""
    ranked = sweeps.ranking(sweep, rows)
    counts = {name: sum(row.ended.outcome == name for row in rows) for name in ("done", "diverged", "failed")}
    best = [{**facts(cell, "values", "mean", "deviation"), "seeds": len(cell.metric)} for cell in ranked[:BEST]]
    copied = sweeps.analysis.command(sweep, ranked[0]) if ranked else None
    report: dict[str, object] = {"metric": sweep.metric, **counts, "best": best, "command": copied}
    lines: list[RenderableType] = [best_table(sweep, rows)] if ranked else ["no run has the metric " + sweep.metric]
    lines.append(", ".join(f"{count} {name}" for name, count in counts.items()))
    lines += [f"run {row.run}: {row.ended.reason}" for row in rows if row.ended.outcome == "failed"][:BEST]
    if copied is not None:
        lines.append(f"best: {copied}")
    return report, Group(*lines)


def show(folder: Path, out: Path) -> Outcome:
    """Draw the sweep in a folder."""
    from anyorder.report import sweeps as figures
    from anyorder.report.style import write_figure

    sweep, rows = sweeps.read_sweep(folder)
    require(len(rows) > 0, f"{folder} has no finished run yet; let the sweep run")
    path = out / "sweep.png"
    write_figure(figures.draw(sweep, rows), path)
    report, shown = summary(sweep, rows)
    return Outcome(
        {"sweep": str(folder), "runs": len(rows), "of": sweep.count, "figure": str(path), **report},
        Group(shown, f"figure: {path}"),
    )
