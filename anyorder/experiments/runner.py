"""Running experiments into a folder: what is finished is kept, what fails is named, and the rest goes on."""

from __future__ import annotations

import dataclasses
import json
import time
import traceback
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from anyorder.errors import InputError, require
from anyorder.experiments.experiment import Experiment, Result, Task, Watch, read_result, write_result
from anyorder.files import whole_file, write_json
from anyorder.training.versions import versions

MANIFEST, RESULT, RUNS = "reproduce.json", "result.safetensors", "runs"


class Outcome(NamedTuple):
    """One experiment: its result and how it was run, or why it failed. `kept` results are of an earlier call."""

    experiment: Experiment
    result: Result | None
    about: dict[str, Any]
    failure: str | None
    kept: bool


def claim(folder: Path, task: Task) -> Task:
    """The task with the folder for its models; refused where the folder holds something else."""
    settings = {"budget": task.budget, "seeds": task.seeds}
    manifest = folder / MANIFEST
    if manifest.exists():
        try:
            stored = json.loads(manifest.read_text(encoding="utf-8"))
        except (OSError, ValueError):
            raise InputError(f"{manifest} is not a whole JSON file; choose another --out") from None
        require(
            stored == settings,
            f"{folder} holds results of budget {stored.get('budget')} with {stored.get('seeds')} seeds, this is budget "
            f"{task.budget} with {task.seeds}; choose another --out",
        )
    else:
        require(not folder.exists() or folder.is_dir(), f"{folder} is a file; --out is a folder")
        require(
            not folder.exists() or not any(folder.iterdir()),
            f"{folder} already holds other files; choose another --out",
        )
        write_json(manifest, settings)
    return dataclasses.replace(task, runs=folder / RUNS)


def run_all(
    experiments: Sequence[Experiment],
    folder: Path,
    task: Task,
    begin: Callable[[Experiment], None] = lambda experiment: None,
    watch: Watch = lambda fraction, doing: None,
) -> Iterator[Outcome]:
    """Every experiment in turn; one that raises is an outcome too."""
    task = dataclasses.replace(claim(folder, task), watch=watch)
    for experiment in experiments:
        begin(experiment)
        yield _run(experiment, folder / experiment.id, task)


def _run(experiment: Experiment, folder: Path, task: Task) -> Outcome:
    if (folder / RESULT).exists():
        try:
            return Outcome(experiment, *read_result(folder / RESULT), None, True)
        except InputError:
            (folder / RESULT).unlink()  # damaged: it is computed again
    clock = time.perf_counter()
    try:
        result = experiment.run(task)
        about = {
            "seconds": time.perf_counter() - clock,
            "budget": task.budget,
            "seeds": task.seeds,
            "versions": versions(),
        }
        write_result(folder / RESULT, result, about)
    except Exception as error:
        with whole_file(folder / "error.txt") as temporary:
            temporary.write_text(traceback.format_exc(), encoding="utf-8")
        reason = str(error).splitlines()[0] if str(error) else "no message"
        return Outcome(experiment, None, {}, f"{type(error).__name__}: {reason}", False)
    (folder / "error.txt").unlink(missing_ok=True)
    return Outcome(experiment, result, about, None, False)
