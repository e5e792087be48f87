"""Experiments: a task goes in, tables and figures come out, and both can be kept in a file."""

from __future__ import annotations

import dataclasses
import time
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from functools import partial
from pathlib import Path
from typing import Literal, NamedTuple, Protocol, TypeAlias, TypeVar, runtime_checkable

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

#: `tiny` shows that everything runs, `quick` shows effects on a laptop, `paper` has the published steps and seeds.
Budget = Literal["tiny", "quick", "paper"]
STEPS: dict[Budget, int] = {"tiny": 300, "quick": 2000, "paper": 30_000}
#: Models of each kind where nothing else is said; App. H.5 has five repetitions.
SEEDS: dict[Budget, int] = {"tiny": 1, "quick": 3, "paper": 5}

#: Ends the names of the files that say how long something took: the only ones that differ between two equal calls.
SECONDS = "seconds.json"

Item = TypeVar("Item")
CellValue: TypeAlias = bool | int | float | str | Sequence[float] | Spread | None
"""The value of a table's cell: a number, a word, several numbers, their mean and deviation, or nothing."""
TableRow: TypeAlias = Mapping[str, CellValue]


@runtime_checkable
class TaskWatcher(Protocol):
    """Is told of a task: the fraction that is done, and what is being done."""

    def __call__(self, fraction: float, doing: str, /) -> None:
        """Called whenever a part of it has ended, and while models are trained."""


class Table(NamedTuple):
    """Rows that all have the same columns."""

    caption: str
    rows: Sequence[TableRow]


@dataclasses.dataclass(frozen=True)
class Result:
    """The result of an experiment, in numbers; figures hold the numbers that are drawn.

    `preset` and `config` are those of the models that the first table is about, where models were trained.
    """

    tables: dict[str, Table]
    figures: Mapping[str, Figure] = dataclasses.field(default_factory=dict)
    notes: tuple[str, ...] = ()
    settings: Mapping[str, object] = dataclasses.field(default_factory=dict)
    preset: str | None = None
    config: Config | None = None


@dataclasses.dataclass(frozen=True)
class Task:
    """How much to do, where trained models are kept, and whom to tell of progress.

    A model that two experiments need is trained once, and training that was interrupted goes on from its
    checkpoint: the folder of a run is named by a digest of its config. `earlier` are the seconds that earlier calls
    spent on a training or a sweep, by the name of its folder. `presets` restricts experiments that compare presets.
    """

    budget: Budget = "quick"
    seeds: int = 3
    runs: Path = Path("runs")
    watch: TaskWatcher = lambda fraction, doing: None
    earlier: dict[str, float] = dataclasses.field(default_factory=dict)
    presets: tuple[str, ...] | None = None

    def among(self, presets: Sequence[str]) -> list[str]:
        """The presets to train out of those that an experiment compares: all at the paper's budget, else the first.

        >>> Task("quick").among(["published", "paper"]), Task("paper", presets=("paper",)).among(["published", "paper"])
        (['published'], ['paper'])
        """
        if self.presets is not None:
            return [name for name in presets if name in self.presets]
        return list(presets if self.budget == "paper" else presets[:1])

    def parts(self, items: Collection[Item]) -> list[tuple[Task, Item]]:
        """Each of the items with its part of the task: what is done of that counts as one of so many equal parts.

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
        """Run a sweep, or as many of its cells as the budget has, on the cores of this machine; rows are kept."""

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
        """The folder of a training or a sweep; the seconds spent on it are added to those of earlier calls."""
        kept = self.runs / f"{name}.{SECONDS}"
        before = read_seconds(kept) if kept.exists() else 0.0
        self.earlier.setdefault(name, before)
        clock = time.perf_counter()
        try:
            yield self.runs / name
        finally:
            write_json(kept, {"seconds": before + time.perf_counter() - clock})


def read_seconds(path: Path) -> float:
    """How long something took, as it was written down."""
    return read_json(path, "the folder of a report", {"seconds": float})["seconds"]


class Wide(NamedTuple):
    """A long table that is shown with the values of the column `by` as heads: what names a row, and what is shown."""

    keys: tuple[str, ...]
    by: str
    value: str


@dataclasses.dataclass(frozen=True)
class OnPage:
    """How docs/reproduce.md shows an experiment whose results at the paper's budget are recorded.

    `figures` names those that are shown, `wide` says how long tables are. `difference` writes a paragraph from the
    recorded tables: where our numbers differ from print, and what was tried to explain it. `charts` draws the figures
    that need nothing but the tables, so that recorded rows of other presets are drawn too.
    """

    figures: tuple[str, ...] = ()
    wide: Mapping[str, Wide] = dataclasses.field(default_factory=dict)
    difference: Callable[[Tables], str] | None = None
    charts: Callable[[Tables], Mapping[str, Figure]] | None = None


@dataclasses.dataclass(frozen=True)
class Experiment:
    """One table or figure: where it stands in the paper, what is said there, how it is read here, and its cost.

    `paper` and `reading` are None for experiments of our own and where nothing was left open. `minutes` are those
    of two free cores where no other experiment has trained its models. `recorded` is None where nothing is recorded.
    The registry sets `home`, the paper that it belongs to.
    """

    id: str
    title: str
    where: str
    paper: str | None
    reading: str | None
    minutes: dict[Budget, float]
    run: Callable[[Task], Result]
    recorded: OnPage | None = None
    home: Paper | None = None


def experiment(
    title: str,
    where: str,
    minutes: dict[Budget, float],
    *,
    paper: str | None = None,
    reading: str | None = None,
    recorded: OnPage | None = None,
) -> Callable[[Callable[[Task], Result]], Experiment]:
    """Make an experiment of the function that it stands above; its id is the name of the function, with hyphens.

    >>> @experiment("Nothing", "ours", {"tiny": 0.1, "quick": 0.1, "paper": 0.1})
    ... def no_table(task: Task) -> Result:
    ...     return Result({})
    >>> no_table.id
    'no-table'
    """
    return lambda run: Experiment(run.__name__.replace("_", "-"), title, where, paper, reading, minutes, run, recorded)


def run_name(config: Config) -> str:
    """A name for a config, the same on every machine.

    It digests the values that differ from the preset `paper`: a field that is added later does not change it.
    """
    standard = values(PRESETS["paper"])
    different = {name: value for name, value in values(config).items() if value != standard[name] and name != "preset"}
    return short_digest(different)


def of_preset(task: Task, name: str, data: Data, **changes: object) -> Config:
    """A preset on these data, within the budget, and then changed.

    Where the budget has fewer steps than the preset the rate is higher and decays to zero. The model of `published`
    finds its induction head late: a quick one takes 10,000 steps, at its own rate.

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
