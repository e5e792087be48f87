"""Experiments: functions from a task to tables and figures, which can be stored in a file."""

from __future__ import annotations

import dataclasses
import time
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from functools import partial
from pathlib import Path
from typing import Any, Literal, NamedTuple, TypeAlias, TypeVar

from anyorder import training
from anyorder.io.atomic import Tables, read_json, short_digest, write_json
from anyorder.papers.figure_data import Figure
from anyorder.papers.paper import Paper
from anyorder.sweeps import spec
from anyorder.sweeps.analysis import Spread
from anyorder.sweeps.local import Local
from anyorder.sweeps.run import Tally, carry_out, plan_sweep
from anyorder.sweeps.spec import Sweep
from anyorder.sweeps.table import SweepRow
from anyorder.training import devices
from anyorder.training.config import PRESETS, Config, Data, changed, preset, values
from anyorder.training.folder import begun
from anyorder.training.progress import Progress
from anyorder.training.run import Trained

#: `tiny` is a smoke test, `quick` reproduces the effects on a laptop, `paper` has the published steps and seeds.
Budget = Literal["tiny", "quick", "paper"]
STEPS: dict[Budget, int] = {"tiny": 300, "quick": 2000, "paper": 30_000}
#: Default number of seeds; App. H.5 has five repetitions.
SEEDS: dict[Budget, int] = {"tiny": 1, "quick": 3, "paper": 5}

#: Suffix of timing files, the only files that differ between two equal calls.
SECONDS = "seconds.json"

Item = TypeVar("Item")
CellValue: TypeAlias = bool | int | float | str | Sequence[float] | Spread | None
"""A table cell: a number, a word, a list of numbers, a mean with its deviation, or nothing."""
TableRow: TypeAlias = Mapping[str, CellValue]
#: Progress callback of a task: the fraction done, and the current step in words.
TaskWatcher: TypeAlias = Callable[[float, str], None]


class Table(NamedTuple):
    """Rows that all have the same columns."""

    caption: str
    rows: Sequence[TableRow]


@dataclasses.dataclass(frozen=True)
class Result:
    """The result of an experiment: tables, and figures as data.

    `preset` and `config` describe the trained models of the first table, and are None without training.
    """

    tables: dict[str, Table]
    figures: Mapping[str, Figure] = dataclasses.field(default_factory=dict)
    notes: tuple[str, ...] = ()
    settings: Mapping[str, object] = dataclasses.field(default_factory=dict)
    preset: str | None = None
    config: Config | None = None


@dataclasses.dataclass(frozen=True)
class Task:
    """Budget, folder of trained models, and progress callback of an experiment.

    The folder of a run is named by a digest of its config, so experiments share models, and an interrupted training
    resumes from its checkpoint.

    earlier: seconds that earlier calls spent on each training or sweep, by folder name.
    presets: restricts experiments that compare presets.
    """

    budget: Budget = "quick"
    seeds: int = 3
    runs: Path = Path("runs")
    watch: TaskWatcher = lambda fraction, doing: None
    earlier: dict[str, float] = dataclasses.field(default_factory=dict)
    presets: tuple[str, ...] | None = None

    def among(self, presets: Sequence[str]) -> list[str]:
        """The presets to train: all that an experiment compares at the paper's budget, otherwise the first.

        >>> Task("quick").among(["published", "paper"]), Task("paper", presets=("paper",)).among(["published", "paper"])
        (['published'], ['paper'])
        """
        if self.presets is not None:
            return [name for name in presets if name in self.presets]
        return list(presets if self.budget == "paper" else presets[:1])

    def parts(self, items: Collection[Item]) -> list[tuple[Task, Item]]:
        """Each item with its part of the task; all parts count equally towards the progress.

        >>> task = Task(watch=lambda fraction, doing: print(f"{fraction:.0%}", doing))
        >>> for part, name in task.parts(["one", "other"]):
        ...     part.watch(0.5, name)
        25% one
        75% other
        """

        def watch(number: int, fraction: float, doing: str) -> None:
            self.watch((number + fraction) / len(items), doing)

        return [(dataclasses.replace(self, watch=partial(watch, number)), item) for number, item in enumerate(items)]

    def train(self, config: Config) -> Trained:
        """Train all models of a config."""

        def watch(progress: Progress) -> None:
            doing = f"step {progress.step}/{progress.steps}, excess {progress.excess:.4f}"
            self.watch(progress.step / progress.steps, doing)

        with self._counted(run_name(config)) as folder:
            return training.train(config, folder, resume=begun(folder), watch=watch, progress=False)

    def sweep(self, sweep: Sweep, budget: int | None = None) -> list[SweepRow]:
        """Run a sweep on the cores of this machine and store its rows; `budget` limits the number of cells."""

        def watch(tally: Tally) -> None:
            ended = tally.done + tally.failed
            self.watch(ended / tally.total, f"{ended}/{tally.total} runs")

        with self._counted(f"{sweep.name}-{spec.sweep_digest(sweep)}") as folder:
            planned = plan_sweep(sweep, folder, budget)
            if not planned.missing:
                return [planned.table.rows[run.number] for run in planned.runs]
            with closing(Local(min(devices.cores(), planned.shapes))) as engine:
                return carry_out(planned, engine, watch)

    @contextmanager
    def _counted(self, name: str) -> Iterator[Path]:
        """The folder of a training or a sweep; adds the seconds spent inside to its timing file."""
        kept = self.runs / f"{name}.{SECONDS}"
        before = read_seconds(kept) if kept.exists() else 0.0
        self.earlier.setdefault(name, before)
        clock = time.perf_counter()
        try:
            yield self.runs / name
        finally:
            write_json(kept, {"seconds": before + time.perf_counter() - clock})


def read_seconds(path: Path) -> float:
    """The seconds in a timing file."""
    return read_json(path, "the folder of a report", {"seconds": float})["seconds"]


@dataclasses.dataclass(frozen=True)
class OnPage:
    """The display settings of an experiment in docs/reproduce.md, if its results at the paper's budget are recorded.

    figures: names of the figures on the page.
    wide: pivots of long tables, by table: the keys that name a row, the columns of the heads and of the cells.
    charts: draws figures from the tables alone, so that recorded rows of other presets are included.
    """

    figures: tuple[str, ...] = ()
    wide: Mapping[str, tuple[tuple[str, ...], str, str]] = dataclasses.field(default_factory=dict)
    charts: Callable[[Tables], Mapping[str, Figure]] | None = None


@dataclasses.dataclass(frozen=True)
class Experiment:
    """One table or figure of a paper: its place, the printed statement, our reading, and its cost.

    paper: the printed statement; None for our own experiments.
    reading: our interpretation; None if nothing is ambiguous.
    minutes: on two free cores, if no other experiment has trained the same models.
    judged: the column that is judged if several readings are next to the printed values.
    errata: ids of the errata of its paper that its numbers demonstrate.
    on_page: display settings of the recorded result in the docs; None if none is recorded.
    home: its paper, set by the registry.
    """

    id: str
    title: str
    where: str
    minutes: dict[Budget, float]
    run: Callable[[Task], Result]
    paper: str | None = None
    reading: str | None = None
    judged: str | None = None
    errata: tuple[str, ...] = ()
    on_page: OnPage | None = None
    home: Paper | None = None


def experiment(
    title: str, where: str, minutes: dict[Budget, float], **about: Any
) -> Callable[[Callable[[Task], Result]], Experiment]:
    """Decorator that turns a function into an experiment; the keywords are fields of `Experiment`.

    The id is the name of the function, with hyphens.

    >>> @experiment("Nothing", "ours", {"tiny": 0.1, "quick": 0.1, "paper": 0.1})
    ... def no_table(task: Task) -> Result:
    ...     return Result({})
    >>> no_table.id
    'no-table'
    """
    return lambda run: Experiment(run.__name__.replace("_", "-"), title, where, minutes, run, **about)


def run_name(config: Config) -> str:
    """A digest that names a config, the same on every machine.

    Only values that differ from the preset `paper` enter, so a field added later does not change the name.
    """
    standard = values(PRESETS["paper"])
    different = {name: value for name, value in values(config).items() if value != standard[name] and name != "preset"}
    return short_digest(different)


def of_preset(task: Task, name: str, data: Data, **changes: object) -> Config:
    """A preset on this data, within the budget, with further changes.

    If the budget has fewer steps than the preset, the rate is higher and decays to zero. The preset `published` finds
    its induction head late, so at the budget `quick` it takes 10,000 steps at its own rate.

    >>> of_preset(Task("quick"), "paper", Data(), layers=1).optimisation.steps
    2000
    """
    config = dataclasses.replace(preset(name), data=data, seeds=task.seeds)
    steps = STEPS[task.budget]
    if steps < config.optimisation.steps:
        late = name == "published" and task.budget == "quick"
        fewer = {"steps": 10_000} if late else {"steps": steps, "learning_rate": 3e-3, "warmup": 100}
        config = changed(config, {**fewer, "final_rate": 0.0})
    if task.budget == "tiny":
        config = changed(config, {"dimension": 16, "batch": 16, "per_kernel": 1, "evaluation_count": 128})
    return changed(config, changes)
