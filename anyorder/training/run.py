"""A training run: rounds of steps, with measurements and checkpoints between them.

The folder of a run contains `config.json`, `metrics.jsonl` (a line for every round and every measurement),
`checkpoint.safetensors` and, when it is finished, `summary.json` and one `model-N.safetensors` for each model.
"""

from __future__ import annotations

import dataclasses
import warnings
from collections.abc import Sequence
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from typing import Any, NamedTuple

import equinox as eqx
import numpy as np

from anyorder.chains import PRIORS, Kernel, Prior, Source, as_source
from anyorder.errors import require
from anyorder.io.atomic import Row
from anyorder.io.gates import gated
from anyorder.io.trees import as_json
from anyorder.models import Transformer, load
from anyorder.training.checks import check_config
from anyorder.training.config import GROUPS, Architecture, Config, Member, changed, preset
from anyorder.training.evaluation import Evaluation, evaluate_each
from anyorder.training.folder import Folder, opened, read_config, read_start
from anyorder.training.initial import initial_model
from anyorder.training.own import GivenModel, check_same, own_modules, source_fields
from anyorder.training.predictions import Output
from anyorder.training.progress import Progress, RoundWatcher, Stop, shown
from anyorder.training.reference import EvaluationSet, GivenFloor, Reference, evaluation_set
from anyorder.training.rounds import Round, placed, rounds
from anyorder.training.step import State, keys, start


class Diverged(Exception):
    """The loss or a weight is no longer a finite number."""

    def __init__(self, step: int, member: Member) -> None:
        super().__init__(
            f"the model of seed {member.seed} diverged at step {step} with learning rate {member.learning_rate:g}; "
            "pass a smaller `learning_rate=`, a longer `warmup=` or a smaller `clip=`"
        )
        self.step, self.seed, self.rate = step, member.seed, member.learning_rate


class Trained(NamedTuple):
    """The result of a finished or stopped run.

    `metrics` has a line for every round and every measurement, like `metrics.jsonl`.
    """

    models: tuple[Any, ...]
    step: int
    finished: bool
    summary: Summary
    metrics: list[Row]

    def __repr__(self) -> str:
        return f"Trained({_run_in_words(self.summary)})"


@dataclasses.dataclass(frozen=True, kw_only=True, repr=False)
class MeasuredModel(Evaluation, Member):
    """A model of a run, and its measurements."""


@dataclasses.dataclass(frozen=True)
class Summary:
    """All models of a run together; `summary.json` has the same names."""

    step: int
    finished: bool
    mean_excess: float
    mean_gap: float | None
    largest_gap: float | None
    reference: Reference
    models: list[MeasuredModel]

    def __repr__(self) -> str:
        return f"Summary({_run_in_words(self)})"


def _run_in_words(summary: Summary) -> str:
    count, gap = len(summary.models), summary.mean_gap
    distance = f"mean excess {summary.mean_excess:.4f}" if gap is None else f"mean gap to the floor {gap:+.5f}"
    ended = "finished" if summary.finished else "not finished"
    return f"{count} model{'s' * (count != 1)}, {ended} at step {summary.step}, {distance} nats"


@gated
def train(
    config: Config | None = None,
    out: str | Path | None = None,
    *,
    source: Source | Prior | Kernel | None = None,
    floor: GivenFloor | None = None,
    model: Architecture | GivenModel | None = None,
    resume: bool = False,
    from_model: Transformer | None = None,
    watch: RoundWatcher = lambda progress: None,
    stop: Stop = lambda: False,
    progress: bool | None = None,
    stacked: bool | None = None,
    **changes: Any,
) -> Trained:
    """Train all models of a config; `out` is the folder to write to, and `resume` continues the run in it.

    The default config is the preset `fast`, as on the command line.

    source: replaces the source of the config; `prior=` also takes a prior or a class of priors.
    floor: Bayes predictor of a source without one: a function from one sequence to rows (T, S), an estimator or a name.
    model: an architecture, an Equinox module from one sequence to logits (T, S), or a function from a key to a module.
    from_model: an anyorder model to start from instead of random weights.
    watch: callback with the progress after every round.
    stop: callback that returns after every round whether the run should end.
    progress: whether to show progress on standard error; None: in a terminal and in a notebook.
    stacked: whether all models run in one program instead of one by one; None: on accelerators only.
    changes: fields of the config by their names.

    >>> tiny = {"length": 4, "layers": 1, "dimension": 4, "mlp": "none", "batch": 2, "evaluation_count": 4}
    >>> train(order=1, seeds=1, steps=2, **tiny).finished
    True
    """
    prior = changes.get("prior")
    if isinstance(prior, type) and issubclass(prior, Prior):
        changes["prior"] = PRIORS.name_of(prior)
    elif source is None and not isinstance(prior, str | None):
        source = changes.pop("prior")
    if source is not None:
        source = as_source(source, int(changes.get("length", (config or Config()).data.length)) + 1)
        fields = source_fields(source)
        for name in fields.keys() & changes.keys():
            have, own = changes[name], fields[name]
            require(have == own, f"{name.replace('_', ' ')} is {have}, the source has {own}; drop `{name}=`")
        changes |= fields
    if config is None:
        config = preset(**changes)
    elif changes:
        config = changed(config, changes)
    if model is not None:
        require(from_model is None, "`model=` and `from_model=` together; pass one of them")
        for name in changes:
            require(GROUPS.get(name) != "architecture", f"`{name}=` together with `model=`, which has its own; drop it")
    if isinstance(model, Architecture):
        config, model = dataclasses.replace(config, architecture=model), None
    elif isinstance(model, Transformer):
        from_model, model = model, None
    check_config(config)
    require(out is not None or not resume, "`resume=True` needs the folder of the run; pass it with `out=`")
    modules = None if model is None else own_modules(config, model)
    if modules is not None:
        config = dataclasses.replace(config, own_model=modules.words)
    if source is None:
        check_same(config.own_source, None, "source")
    if resume and out is not None:
        stored = read_config(Path(out))
        check_same(stored.own_source, config.own_source, "source")
        check_same(stored.own_model, config.own_model, "model")
        from_model = read_start(Path(out))
    elif from_model is None and config.initial.from_model is not None:
        from_model = load(config.initial.from_model)
    fresh: list[Any] = [] if modules is None else list(modules.fresh)
    if not fresh and not resume:
        fresh = _initial_models(config, from_model)
    nowhere: AbstractContextManager[Folder | None] = nullcontext()
    with nowhere if out is None else opened(Path(out), config, resume) as folder:
        last = None if folder is None or not resume else folder.last(from_model if modules is None else fresh[0])
        if last is not None:
            models, states = last.models, last.states
        else:
            models = fresh or _initial_models(config, from_model)
            states = [start(config, model) for model in models]
            if folder is not None:
                folder.begin(from_model)
        with shown(len(states), progress) as show:
            run = _Run(config, models[0], states, folder, stacked, source, floor)
            return run.go(None if last is None else last.step, (show, watch), stop)


def _initial_models(config: Config, from_model: Transformer | None) -> list[Any]:
    return [initial_model(config, keys(member.seed).weights, from_model) for member in config.members]


class _Run:
    def __init__(
        self,
        config: Config,
        frame: eqx.Module,
        states: list[State],
        folder: Folder | None,
        stacked: bool | None,
        source: Source | None,
        floor: GivenFloor | None,
    ) -> None:
        self.config, self.folder = config, folder
        self.lines: list[Row] = []
        self.frame = eqx.filter(frame, eqx.is_inexact_array, inverse=True)
        self.placed = placed([config], frame, states, stacked, source)
        asked, data = config.measurement, config.data if source is None else source
        self.evaluation = evaluation_set(data, asked.evaluation_count, asked.evaluation_seed, floor=floor)

    def go(self, begun: int | None, watchers: Sequence[RoundWatcher], stop: Stop) -> Trained:
        measurement, steps, step = self.config.measurement, self.config.optimisation.steps, begun or 0
        first, spent, lines = step, 0.0, self._measure(step)
        if begun is None:
            self._write([{"kind": "reference", "step": 0, **as_json(self.evaluation.reference)}, *lines])
            self._keep(0)
            self._save(0)
        if not stop():
            every = measurement.evaluate_every, measurement.checkpoint_every, measurement.keep_every
            for taken in rounds(self.placed, steps, step, tuple(filter(None, every))):
                step, spent = taken.last, spent + taken.seconds
                self._report(taken)
                if step % measurement.evaluate_every == 0 or step == steps:
                    self._write(self._measure(step))
                self._keep(step)  # before the checkpoint, from which a killed run resumes
                stopped = stop()
                if step % measurement.checkpoint_every == 0 or step == steps or stopped:
                    self._save(step)
                loss, now = float(taken.losses.mean(axis=1).mean()), self.summary
                for watch in watchers:
                    watch(Progress(step, steps, loss, now.mean_gap, now.mean_excess, (step - first) / spent))
                if stopped:
                    break
        finished = step == steps
        summary = dataclasses.replace(self.summary, step=step, finished=finished)
        for note in {one.note for one in summary.models if one.note is not None}:
            warnings.warn(note, stacklevel=3)
        models = tuple(self._models())
        if self.folder is not None and finished:
            self.folder.finish(summary, models)
        metrics = self.lines if self.folder is None else self.folder.lines
        return Trained(models, step, finished, summary, metrics)

    def _models(self) -> list[Any]:
        return [eqx.combine(state.weights, self.frame) for state in self.placed.states]

    def _report(self, taken: Round) -> None:
        for model, step in taken.diverged.items():
            raise Diverged(step, self.config.members[model])
        self._write(
            [
                {"kind": "loss", "step": taken.last, **vars(member), "loss": float(curve.mean())}
                for member, curve in zip(self.config.members, taken.losses, strict=True)
            ]
        )

    def _measure(self, step: int) -> list[Row]:
        """Measure all models and return the new lines of the metrics."""
        self.summary = summarised(self.config, step, self._models(), self.evaluation)
        return [{"kind": "evaluation", "step": step, **as_json(one)} for one in self.summary.models]

    def _write(self, lines: list[Row]) -> None:
        if self.folder is None:
            self.lines += lines
        else:
            self.folder.append(lines)

    def _keep(self, step: int) -> None:
        every = self.config.measurement.keep_every
        if self.folder is not None and every and step % every == 0:
            self.folder.keep(step, self._models())

    def _save(self, step: int) -> None:
        if self.folder is not None:
            self.folder.save(step, self.placed.states)


@gated
def summarised(config: Config, step: int, trained: Sequence[Any], evaluation: EvaluationSet) -> Summary:
    """Measure all models of a run: each, their means, and the reference."""
    output: Output | None = None if config.own_model is None else "logits"
    each = zip(config.members, evaluate_each(trained, evaluation, output), strict=True)
    models = [MeasuredModel(**vars(member), **vars(found)) for member, found in each]
    gaps = [model.gap for model in models if model.gap is not None]
    return Summary(
        step=step,
        finished=step == config.optimisation.steps,
        mean_excess=float(np.mean([model.excess for model in models])),
        mean_gap=float(np.mean(gaps)) if gaps else None,
        largest_gap=max(gaps, default=None),
        reference=evaluation.reference,
        models=models,
    )
