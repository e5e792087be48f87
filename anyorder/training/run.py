"""A training run: rounds of steps, and between them measurements, checkpoints and a look at the clock.

The folder of a run holds `config.json`, `metrics.jsonl` (a line for every round and every measurement),
`checkpoint.safetensors` and, when it is finished, `summary.json` and one `model-N.safetensors` for each model.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import equinox as eqx
import jax
import numpy as np

from anyorder.training import config as configs
from anyorder.training.checkpoint import Checkpoint
from anyorder.training.config import Config
from anyorder.training.data import prior
from anyorder.training.engine import engine
from anyorder.training.evaluation import evaluate, evaluation_set, reference
from anyorder.training.folder import Folder, read_start
from anyorder.training.initial import initial_model
from anyorder.training.step import State, keys, start
from anyorder.transformer import Transformer, load

#: Steps between two reports of the loss.
ROUND = 100


class Diverged(Exception):
    """The loss or a weight is no longer a finite number."""

    def __init__(self, step: int, seed: int, rate: float) -> None:
        super().__init__(
            f"the model of seed {seed} diverged at step {step} with learning rate {rate:g}; "
            "pass a smaller --learning-rate, a longer --warmup or a smaller --clip"
        )
        self.step, self.seed, self.rate = step, seed, rate


class Progress(NamedTuple):
    """Where a run stands: means over its models, and the steps that each takes in a second."""

    step: int
    steps: int
    loss: float
    gap: float | None
    excess: float
    speed: float


class Result(NamedTuple):
    """A run that has ended, because it was finished or because it was told to stop."""

    models: tuple[Transformer, ...]
    step: int
    finished: bool
    summary: dict[str, Any]


def train(
    config: Config,
    out: str | Path | None = None,
    *,
    resume: bool = False,
    given: Transformer | None = None,
    watch: Callable[[Progress], None] = lambda progress: None,
    stop: Callable[[], bool] = lambda: False,
    stacked: bool | None = None,
) -> Result:
    """Train all models of a config; with `out` everything is written there, with `resume` it goes on from there.

    `given` is the model to start from instead of random weights. `stop` is asked after every round. `stacked`
    chooses between one model a device and all models in one program; None lets the backend decide.

    >>> from anyorder.training.config import Architecture, Data, Measurement, Optimisation
    >>> tiny = Config(
    ...     data=Data(order=1, length=4),
    ...     architecture=Architecture(layers=1, dimension=4, mlp="none"),
    ...     optimisation=Optimisation(steps=2, batch=2, warmup=0),
    ...     measurement=Measurement(evaluation_count=4),
    ... )
    >>> result = train(tiny)
    >>> result.step, result.finished
    (2, True)
    """
    configs.check(config)
    prior(config.data)  # refuses kernels that are too large
    folder = None if out is None else Folder(Path(out), config, resume)
    if resume and out is not None:
        given = read_start(Path(out))
    elif given is None and config.initial.from_model is not None:
        given = load(config.initial.from_model)
    fresh = [initial_model(config, keys(seed).weights, given) for seed, _ in config.members]
    states, first = [start(config, model) for model in fresh], 0
    if folder is not None:
        states, first = folder.begin(states, given)
    run = _Run(config, fresh[0], states, folder, watch, stacked)
    return run.go(first, stop)


class _Run:
    def __init__(
        self,
        config: Config,
        frame: Transformer,
        states: list[State],
        folder: Folder | None,
        watch: Callable[[Progress], None],
        stacked: bool | None,
    ) -> None:
        self.config, self.folder, self.watch = config, folder, watch
        self.frame = eqx.filter(frame, eqx.is_inexact_array, inverse=True)
        self.engine = engine([config], frame, states, stacked)
        measurement = config.measurement
        self.evaluation = evaluation_set(config.data, measurement.evaluation_count, measurement.evaluation_seed)
        self.reference = reference(self.evaluation)
        self.measured: list[dict[str, Any]] = []

    def go(self, step: int, stop: Callable[[], bool]) -> Result:
        measurement, steps = self.config.measurement, self.config.optimisation.steps
        if step == 0:
            self._write([{"kind": "reference", "step": 0, **self.reference}])
            self._save(0)
        self._measure(step, write=step == 0)
        spent, begun = 0.0, step
        while step < steps and not stop():
            every = (ROUND, measurement.evaluate_every, measurement.checkpoint_every)
            last = min(steps, *(step - step % length + length for length in every))
            clock = time.perf_counter()
            losses = self._steps(step, last)
            spent += time.perf_counter() - clock
            step = last
            if step % measurement.evaluate_every == 0 or step == steps:
                self._measure(step)
            if step % measurement.checkpoint_every == 0 or step == steps:
                self._save(step)
            self._report(step, losses, (step - begun) / spent)
        if self.folder is not None and step % measurement.checkpoint_every and step < steps:
            self._save(step)
        finished = step == steps
        summary = summarised(self.config, step, self.reference, self.measured)
        models = tuple(self._models())
        if self.folder is not None and finished:
            self.folder.finish(summary, models)
        return Result(models, step, finished, summary)

    def _models(self) -> list[Transformer]:
        states = jax.device_put(self.engine.states, jax.local_devices()[0])  # wherever their last steps were taken
        return [eqx.combine(state.weights, self.frame) for state in states]

    def _steps(self, first: int, last: int) -> np.ndarray:
        losses, sound = self.engine.run(first, last)
        for (seed, rate), curve, good in zip(self.config.members, losses, sound, strict=True):
            if not (good and np.isfinite(curve).all()):
                broken = np.flatnonzero(~np.isfinite(curve))
                raise Diverged(first + int(broken[0]) if len(broken) else last - 1, seed, rate)
        self._write(
            [
                {"kind": "loss", "step": last, **_member(self.config, index), "loss": float(curve.mean())}
                for index, curve in enumerate(losses)
            ]
        )
        return losses.mean(axis=1)

    def _measure(self, step: int, write: bool = True) -> None:
        self.measured = [evaluate(model, self.evaluation) for model in self._models()]
        if write:
            self._write(
                [
                    {"kind": "evaluation", "step": step, **_member(self.config, index), **measured}
                    for index, measured in enumerate(self.measured)
                ]
            )

    def _report(self, step: int, losses: np.ndarray, speed: float) -> None:
        gap, excess = _mean(self.measured, "gap"), _mean(self.measured, "excess")
        assert excess is not None
        self.watch(Progress(step, self.config.optimisation.steps, float(losses.mean()), gap, excess, speed))

    def _write(self, lines: list[dict[str, Any]]) -> None:
        if self.folder is not None:
            self.folder.append(lines)

    def _save(self, step: int) -> None:
        if self.folder is not None:
            self.folder.save(Checkpoint(self.config, step, self.engine.states))


def summarised(config: Config, step: int, about: dict[str, Any], measured: Sequence[dict[str, Any]]) -> dict[str, Any]:
    """All models of a run together: what was measured on each, means, and the reference."""
    gaps = [values["gap"] for values in measured]
    return {
        "step": step,
        "finished": step == config.optimisation.steps,
        "mean_excess": _mean(measured, "excess"),
        "mean_gap": _mean(measured, "gap"),
        "largest_gap": None if None in gaps else max(gaps),
        "reference": about,
        "models": [{**_member(config, index), **values} for index, values in enumerate(measured)],
    }


def _member(config: Config, index: int) -> dict[str, Any]:
    seed, rate = config.members[index]
    return {"model": index, "seed": seed, "learning_rate": rate}


def _mean(measured: Sequence[dict[str, Any]], name: str) -> float | None:
    values = [entry[name] for entry in measured]
    return None if None in values else float(np.mean(values))
