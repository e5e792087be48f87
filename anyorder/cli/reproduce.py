"""`anyorder reproduce`: every table and figure from one command."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Annotated, Literal

import tyro
from rich.console import Console, Group
from rich.progress import TextColumn, TimeElapsedColumn
from rich.table import Table

from anyorder import papers
from anyorder.cli.catalogue import listed
from anyorder.cli.command import Command, Outcome, progress, table
from anyorder.errors import require
from anyorder.io.gates import Gate, check_memory
from anyorder.training import devices


class Reproduce(Command):
    """Run experiments and write a report: each table and figure next to the printed values.

    Examples:
      anyorder reproduce list
      anyorder reproduce
      anyorder reproduce depth bits --out two
      anyorder reproduce own
      anyorder reproduce depth bits attention-maps --budget paper --out paper

    The same command, repeated, resumes where it was interrupted; finished experiments are not run twice.
    """

    next = "anyorder claims --quick"
    ids: Annotated[tuple[str, ...], tyro.conf.Positional, tyro.conf.arg(metavar="[ID …]")] = ()
    """Ids of experiments, PAPER/ID, or names of papers; by default all.
    `anyorder reproduce list` names them."""
    budget: Literal["tiny", "quick", "paper"] = "quick"
    """quick: all experiments in half an hour on two free cores. paper: the published steps. tiny: a smoke test."""
    seeds: int | None = None
    """Number of seeds; by default 3 for quick, 5 for paper, 1 for tiny."""
    out: Annotated[str, Gate("fill")] = "reproduce"
    """Folder for index.html, <id>.json with all numbers of each experiment, tables, figures and trained models."""

    def run(self) -> Outcome:
        """Run, write after every experiment, and report failures."""
        if self.ids == ("list",):
            return _listed()
        require(
            self.seeds is None or self.seeds >= 1, f"seeds is {self.seeds}, must be at least 1; pass `seeds=1` or more"
        )
        devices.prepare()
        from anyorder.report import reproduce

        experiments, folder = papers.chosen(self.ids), Path(self.out)
        seeds = papers.experiment.SEEDS[self.budget] if self.seeds is None else self.seeds
        check_memory(seeds << 20, f"{seeds} models of each kind", "pass fewer `seeds=`")
        papers.runner.check_folder(folder, {"budget": self.budget, "seeds": seeds})
        sections, ran = [], []
        try:
            with _bars(experiments, self.budget) as (begin, watch):
                for one in papers.run_all(experiments, folder, papers.Task(self.budget, seeds), begin, watch):
                    ran.append(one)
                    sections.append(reproduce.section(folder, one))
                    page = reproduce.write_report(folder, sections, self.next_step({}), self.budget)
        except KeyboardInterrupt:
            raise KeyboardInterrupt(f"interrupted; the same command resumes in {folder}") from None
        report = {
            "out": self.out,
            "page": str(page),
            "budget": self.budget,
            "seeds": seeds,
            "failed": {one.experiment.id: one.failure for one in ran if one.failure is not None},
            "experiments": {
                one.experiment.id: {
                    "seconds": one.seconds,
                    "kept": one.kept,
                    "tables": {
                        name: papers.results.expanded(table.rows) for name, table in one.record.result.tables.items()
                    },
                }
                for one in ran
                if one.record is not None
            },
        }
        return Outcome(report, Group(_table(ran), f"report: {page}"), passed=not report["failed"])


def _listed() -> Outcome:
    found = listed("experiments")
    rows = []
    for one in found:
        minutes = (f"{one['minutes'][name]:g} min" for name in ("quick", "paper"))
        rows.append((one["id"], f"{one['title']} ({one['where']})", *minutes))
    columns = {"id": "<", "experiment": "<", "quick": "", "paper": ""}
    return Outcome({"experiments": found}, table(columns, rows))


def _table(ran: list[papers.Ran]) -> Table:
    rows = []
    for one in ran:
        time = f"{one.seconds:.0f} s" if one.seconds is not None else ""
        said = f"FAILED: {one.failure}" if one.failure is not None else "kept" if one.kept else "done"
        rows.append((one.experiment.id, time, said))
    return table({"experiment": "<", "time": "", "outcome": "<"}, rows)


@contextlib.contextmanager
def _bars(
    experiments: list[papers.Experiment], budget: papers.experiment.Budget
) -> Iterator[tuple[Callable[[papers.Experiment], None], papers.TaskWatcher]]:
    """One bar for all experiments and one for the running one; plain lines without a terminal."""
    console = Console(stderr=True)
    minutes = {one.id: one.minutes[budget] for one in experiments}
    console.print(
        f"{len(experiments)} experiments at budget {budget}, about {sum(minutes.values()):.0f} min on two cores, "
        f"less where models are shared: {', '.join(f'{id} {cost:g}' for id, cost in minutes.items())}"
    )
    with progress(TextColumn("{task.percentage:>3.0f} %"), TimeElapsedColumn()) as bars:
        overall = bars.add_task("all", total=sum(minutes.values()))
        running = bars.add_task("", total=1.0)
        done = [0.0, 0.0]  # minutes of the finished experiments, and of the running one
        name = [""]

        def begin(experiment: papers.Experiment) -> None:
            done[:] = [sum(done), minutes[experiment.id]]
            name[0] = experiment.id
            bars.reset(running, total=1.0, description=experiment.id)
            bars.update(overall, completed=done[0])
            if not console.is_terminal:
                console.print(f"{experiment.id}: about {done[1]:g} min")

        def watch(fraction: float, doing: str) -> None:
            bars.update(running, completed=fraction, description=f"{name[0]}: {doing}")
            bars.update(overall, completed=done[0] + fraction * done[1])

        yield begin, watch
