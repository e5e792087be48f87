"""What an experiment is: a task goes in, tables and arrays come out, and both can be kept in a file."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, Literal, NamedTuple

import numpy as np

from anyorder import files, records, training
from anyorder.training import config as configs
from anyorder.training import fields
from anyorder.training.config import Architecture, Config, Data, Measurement, Optimisation
from anyorder.training.folder import begun
from anyorder.training.progress import Progress
from anyorder.training.run import Trained

#: `tiny` shows that everything runs, `quick` shows each effect on a laptop, `paper` has the published steps and seeds.
Budget = Literal["tiny", "quick", "paper"]
STEPS: dict[Budget, int] = {"tiny": 300, "quick": 2000, "paper": 30_000}

FORMAT = "anyorder result 1"

Watch = Callable[[float, str], None]
"""Called with the fraction that is done, and what is being done."""


class Table(NamedTuple):
    """Rows that all have the same columns; values are numbers, words or None."""

    caption: str
    rows: list[dict[str, Any]]


@dataclasses.dataclass(frozen=True)
class Result:
    """What an experiment found. Figures are drawn from the tables and the arrays alone."""

    tables: dict[str, Table]
    arrays: Mapping[str, np.ndarray] = dataclasses.field(default_factory=dict)
    notes: tuple[str, ...] = ()
    settings: dict[str, Any] = dataclasses.field(default_factory=dict)


@dataclasses.dataclass(frozen=True)
class Task:
    """How much to do, where trained models are kept (None: nowhere), and whom to tell of progress.

    A model that two experiments need is trained once, and training that was interrupted goes on from its
    checkpoint: the folder of a run is named by a digest of its config.
    """

    budget: Budget = "quick"
    seeds: int = 3
    runs: Path | None = None
    watch: Watch = lambda fraction, doing: None

    def train(self, config: Config, part: int = 0, parts: int = 1) -> Trained:
        """Train all models of a config, as part number `part` of the `parts` of an experiment."""
        folder = None if self.runs is None else self.runs / digest(config)

        def watch(progress: Progress) -> None:
            doing = f"step {progress.step}/{progress.steps}, excess {progress.excess:.4f}"
            self.watch((part + progress.step / progress.steps) / parts, doing)

        return training.train(config, folder, resume=folder is not None and begun(folder), watch=watch, progress=False)


@dataclasses.dataclass(frozen=True)
class Experiment:
    """One table or figure: where it stands in the paper, what is said there, how it is read here, and its cost.

    `paper` and `reading` are None for experiments of our own and where nothing was left open. `minutes` are those
    of two cores.
    """

    id: str
    title: str
    where: str
    paper: str | None
    reading: str | None
    minutes: dict[Budget, float]
    run: Callable[[Task], Result]


def digest(config: Config) -> str:
    """A name for a config, the same on every machine.

    It is made of what differs from the preset `paper`, so that a field that is added later leaves it as it is.

    >>> digest(Config()) == digest(Config()), digest(Config()) == digest(Config(seed=1))
    (True, False)
    """
    standard = fields.values(configs.PRESETS["paper"])
    different = {name: value for name, value in fields.values(config).items() if value != standard[name]}
    return files.digest(different)


def published(task: Task, data: Data, architecture: Architecture | None = None) -> Config:
    """The paper's architecture and optimiser; below the paper's 30,000 steps with a rate that decays to zero.

    >>> published(Task("quick"), Data()).optimisation.steps
    2000
    """
    config = dataclasses.replace(
        configs.PRESETS["paper"], data=data, seeds=task.seeds, architecture=architecture or Architecture()
    )
    if task.budget == "paper":
        return config
    short = Optimisation(steps=STEPS[task.budget], learning_rate=(3e-3,), warmup=100, final_rate=0.0)
    return shrunk(task, dataclasses.replace(config, optimisation=short))


def to_the_floor(task: Task, data: Data) -> Config:
    """The recipe that reaches the Bayes floor; its 2,000 steps are enough for every budget."""
    config = dataclasses.replace(configs.PRESETS["floor"], data=data, seeds=task.seeds)
    steps = min(config.optimisation.steps, STEPS[task.budget])
    return shrunk(task, dataclasses.replace(config, optimisation=dataclasses.replace(config.optimisation, steps=steps)))


def shrunk(task: Task, config: Config) -> Config:
    """For the tiny budget: a narrow model, small batches, a small evaluation set."""
    if task.budget != "tiny":
        return config
    return dataclasses.replace(
        config,
        architecture=dataclasses.replace(config.architecture, dimension=16),
        optimisation=dataclasses.replace(config.optimisation, batch=16),
        measurement=Measurement(evaluation_count=128),
    )


def spread(values: list[float]) -> tuple[float, float | None]:
    """Mean and standard deviation over seeds; one seed has no deviation.

    >>> spread([1.0, 3.0]), spread([1.0])
    ((2.0, 1.4142135623730951), (1.0, None))
    """
    return float(np.mean(values)), float(np.std(values, ddof=1)) if len(values) > 1 else None


def write_result(path: Path, result: Result, about: dict[str, Any]) -> None:
    """Keep a result, whole or not at all; `about` says how it came to be."""
    records.write_record(path, (result, about), FORMAT)


def read_result(path: Path) -> tuple[Result, dict[str, Any]]:
    """A result that was kept, and what was said about it."""
    return records.read_record(path, FORMAT, (Result, Table))
