"""Running experiments into a folder: what is finished is kept, what fails is named, and the rest goes on."""

from __future__ import annotations

import dataclasses
import time
import traceback
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

from anyorder.errors import InputError, require
from anyorder.experiments.experiment import Experiment, Result, Task, Watch, read_result, write_result
from anyorder.files import holds, locked, read_json, whole_file, write_json
from anyorder.training.versions import difference, versions

MANIFEST, RESULT, RUNS = "reproduce.json", "result.safetensors", "runs"
#: How long an experiment took: the only file that differs between two equal calls.
SECONDS = "seconds.json"


class Ran(NamedTuple):
    """One experiment: its result and how it was run, or why it failed. `kept` results are of an earlier call."""

    experiment: Experiment
    result: Result | None
    about: dict[str, Any]
    seconds: float | None
    failure: str | None
    kept: bool


@contextmanager
def held(folder: Path, task: Task) -> Iterator[Task]:
    """Hold the folder of a report; gives the task with a place for its models. Refused where it is another's."""
    settings = {"budget": task.budget, "seeds": task.seeds}
    _check(folder, settings)
    with locked(folder):
        if not _check(folder, settings):
            write_json(folder / MANIFEST, settings)
        yield dataclasses.replace(task, runs=folder / RUNS)


def _check(folder: Path, settings: dict[str, Any]) -> bool:
    if not holds(folder, MANIFEST):
        return False
    stored = read_json(folder / MANIFEST, "another folder", {"budget": str, "seeds": int})
    require(
        stored == settings,
        f"{folder} holds results of budget {stored['budget']} with {stored['seeds']} seeds, this is budget "
        f"{settings['budget']} with {settings['seeds']}; choose another `out=`",
    )
    return True


def run_all(
    experiments: Sequence[Experiment],
    folder: Path,
    task: Task,
    begin: Callable[[Experiment], None] = lambda experiment: None,
    watch: Watch = lambda fraction, doing: None,
) -> Iterator[Ran]:
    """Every experiment in turn; one that raises is an outcome too."""
    with held(folder, task) as placed:
        for experiment in experiments:
            begin(experiment)
            yield _run(experiment, folder / experiment.id, dataclasses.replace(placed, watch=watch))


def _run(experiment: Experiment, folder: Path, task: Task) -> Ran:
    if (folder / RESULT).exists():
        try:
            return _kept(experiment, folder)
        except InputError as error:
            warnings.warn(f"{error}; it is computed again", stacklevel=2)
    clock = time.perf_counter()
    try:
        result = experiment.run(task)
        seconds = time.perf_counter() - clock
        about = {"budget": task.budget, "seeds": task.seeds, "versions": versions()}
        write_json(folder / SECONDS, {"seconds": seconds})
        write_result(folder / RESULT, result, about)
    except Exception as error:
        with whole_file(folder / "error.txt") as temporary:
            temporary.write_text(traceback.format_exc(), encoding="utf-8")
        reason = str(error).splitlines()[0] if str(error) else "no message"
        return Ran(experiment, None, {}, None, f"{type(error).__name__}: {reason}", False)
    (folder / "error.txt").unlink(missing_ok=True)
    return Ran(experiment, result, about, seconds, None, False)


def _kept(experiment: Experiment, folder: Path) -> Ran:
    result, about = read_result(folder / RESULT)
    seconds = read_json(folder / SECONDS, "the folder of a report", {"seconds": float})["seconds"]
    differs = difference(about["versions"])
    if differs:
        warnings.warn(f"the kept result of {experiment.id} was computed with {differs}", stacklevel=2)
    return Ran(experiment, result, about, seconds, None, True)
