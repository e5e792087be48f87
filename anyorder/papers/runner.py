"""Run experiments into a folder: finished results are kept, and a failure does not stop the others."""

from __future__ import annotations

import dataclasses
import time
import traceback
import warnings
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

from anyorder.errors import InputError, in_a_line, require
from anyorder.io.atomic import Row, holds, locked, read_json, write_json, write_text
from anyorder.io.trees import read_record, write_record
from anyorder.papers import figure_data as figures
from anyorder.papers.experiment import SECONDS, Budget, Experiment, Result, Table, Task, TaskWatcher, read_seconds
from anyorder.sweeps.analysis import Spread
from anyorder.training import config as configs
from anyorder.training.versions import versions, versions_difference

MANIFEST, RESULT, RUNS = "reproduce.json", "result.safetensors", "runs"

FORM = "anyorder experiment 3"


@dataclasses.dataclass(frozen=True)
class Record:
    """A result with the settings of its run, as it is stored."""

    result: Result
    budget: Budget
    seeds: int
    versions: dict[str, str]


#: Classes that a record may contain.
KINDS: tuple[type, ...] = (
    Record, Result, Table, Spread, figures.Series, figures.Chart, figures.Plot, figures.AttentionMap, figures.MapGrid,
    figures.Heat, configs.Config, configs.Data, configs.Architecture, configs.Initial, configs.Optimisation,
    configs.Measurement,
)  # fmt: skip


class Ran(NamedTuple):
    """One experiment: its record and duration, or its failure. A `kept` record comes from an earlier call."""

    experiment: Experiment
    record: Record | None
    seconds: float | None = None
    failure: str | None = None
    kept: bool = False


def check_folder(folder: Path, settings: Row) -> bool:
    """Whether the folder contains a report; raises `InputError` if its settings are different."""
    if not holds(folder, MANIFEST):
        return False
    stored = read_json(folder / MANIFEST, "another folder", {"budget": str, "seeds": int})
    require(
        stored == settings,
        f"{folder} contains results of budget {stored['budget']} with {stored['seeds']} seeds, this is budget "
        f"{settings['budget']} with {settings['seeds']}; choose another `out=`",
    )
    return True


def run_all(
    experiments: Sequence[Experiment],
    folder: Path,
    task: Task,
    begin: Callable[[Experiment], None] = lambda experiment: None,
    watch: TaskWatcher = lambda fraction, doing: None,
) -> Iterator[Ran]:
    """Run every experiment in turn in a locked folder; an exception is reported, and the next one begins.

    An `InputError` is raised.
    """
    settings = {"budget": task.budget, "seeds": task.seeds}
    check_folder(folder, settings)
    with locked(folder):
        if not check_folder(folder, settings):
            write_json(folder / MANIFEST, settings)
        for experiment in experiments:
            begin(experiment)
            own = dataclasses.replace(task, runs=folder / RUNS, watch=watch, earlier={})
            yield _run(experiment, folder / experiment.id, own)


def _run(experiment: Experiment, folder: Path, task: Task) -> Ran:
    if (folder / RESULT).exists():
        try:
            return _kept(experiment, folder)
        except InputError as error:
            warnings.warn(f"{error}; it is computed again", stacklevel=2)
    clock = time.perf_counter()
    try:
        result = experiment.run(task)
        took = time.perf_counter() - clock + sum(task.earlier.values())
        record = Record(result, task.budget, task.seeds, versions())
        write_json(folder / SECONDS, {"seconds": took})
        write_record(folder / RESULT, record, FORM)
    except InputError:  # of this call: its settings do not fit, and the next experiment has the same
        raise
    except Exception as error:
        write_text(folder / "error.txt", traceback.format_exc())
        return Ran(experiment, None, failure=in_a_line(error))
    (folder / "error.txt").unlink(missing_ok=True)
    return Ran(experiment, record, took)


def _kept(experiment: Experiment, folder: Path) -> Ran:
    record = read_record(folder / RESULT, FORM, KINDS)
    differs = versions_difference(record.versions)
    if differs:
        warnings.warn(f"the stored result of {experiment.id} was computed with {differs}", stacklevel=2)
    return Ran(experiment, record, read_seconds(folder / SECONDS), kept=True)
