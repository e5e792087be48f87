"""`anyorder train`, `anyorder evaluate` and `anyorder show`."""

from __future__ import annotations

import contextlib
import dataclasses
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Annotated, Any

import tyro
from rich.console import Group

from anyorder import io, training
from anyorder.cli.command import Command, Outcome, facts, table, working
from anyorder.cli.signals import asked_to_stop
from anyorder.errors import in_flags, require
from anyorder.io.gates import Gate
from anyorder.training import config as configs
from anyorder.training import config_text, devices
from anyorder.training.checks import check_config
from anyorder.training.config import Config, Data


class Train(Command):
    """Train models on random Markov chains and measure their gap to the Bayes floor.

    Examples:
      anyorder train --out run
      anyorder train --order 3 --length 64 --seeds 5 --out run
      anyorder train --preset paper --learning-rate 1e-3 1e-2 --out grid
      anyorder train --mixer mamba --layers 1 --out mamba
      anyorder train --prior order-mixture --min-order 1 --max-order 3 --length 64 --out unknown
      anyorder train --resume run
    """

    next = "anyorder show {out}"
    out: Annotated[str | None, Gate("fill")] = None
    """Folder for index.html, figures, config, metrics, checkpoint, models and summary, new or empty; by default a new
    one under runs."""
    preset: str = "fast"
    """Defaults of all flags below: fast (reaches the floor soonest; steps and rate depend on the order), floor (the
    recipe of the recorded results), paper (the paper's text), published (the authors' code) or gpt2."""
    config: Annotated[str | None, Gate("read")] = None
    """Take these defaults from a JSON file instead, such as the config.json of a run."""
    resume: Annotated[str | None, Gate("read")] = None
    """Continue the run in this folder, with its own config."""
    settings: Annotated[Config, tyro.conf.OmitArgPrefixes, tyro.conf.arg(name="")] = dataclasses.field(
        default_factory=Config
    )
    """One model for every learning rate and seed, with all other settings in common."""

    @classmethod
    def default(cls, given: Mapping[str, Any]) -> Train:
        """The config that the flags of this call change: of a run, of a file, or of a preset."""
        whole = [f"--{flag}" for flag in ("resume", "config", "preset") if flag in given]
        require(len(whole) <= 1, f"{' and '.join(whole)} together; each sets the whole config, choose one")
        if "resume" in given:
            return cls(settings=training.read_config(Path(given["resume"])))
        if "config" in given:
            document = io.atomic.read_json(given["config"], "a JSON file")
            return cls(settings=config_text.from_document(document, given["config"]))
        data = given.get("settings", {}).get("data", {})
        if "order" in data:
            Data(**data).check_window()
        order = data.get("order", 2)
        mixer = given.get("settings", {}).get("architecture", {}).get("mixer", ("attention",))
        chosen = {**data, **given.get("settings", {}).get("optimisation", {})}
        decisive = {name: chosen[name] for name in configs.DECIDE_TARGETS if name in chosen}
        return cls(settings=configs.preset(given.get("preset", "fast"), order, mixer=tuple(mixer), **decisive))

    def run(self) -> Outcome:
        """Train, with progress on standard error, and tabulate."""
        check_config(self.settings)
        require(
            self.out is None or self.resume is None,
            "pass --out DIR for a new run, or --resume DIR to continue one, not both",
        )
        devices.prepare()
        from anyorder.models import load

        resume, start = self.resume is not None, self.settings.initial.from_model
        from_model = None if resume or start is None else load(start)
        with self._folder() as folder, asked_to_stop() as stop:
            try:
                result = training.train(
                    self.settings, folder, resume=resume, from_model=from_model, stop=stop, progress=True
                )
            except training.Diverged as error:
                kept = f"the last good checkpoint is in {folder}"
                report = {"out": folder, "diverged": facts(error, "step", "seed", "rate")}
                return Outcome(report, in_flags(f"{error}; {kept}"), passed=False)
        if not result.finished:
            raise KeyboardInterrupt(f"interrupted at step {result.step}; resume with: anyorder train --resume {folder}")
        from anyorder.report.training import write_run

        with working("drawing"):
            page = write_run(Path(folder), Path(folder))["page"]
        report = {"out": folder, "page": str(page), **vars(result.summary)}
        return Outcome(report, Group(models_table(result.summary), f"run: {folder}\npage: {page}"))

    @contextlib.contextmanager
    def _folder(self) -> Iterator[str]:
        """The folder of the run; a new folder is removed again if it stays empty."""
        if named := self.out or self.resume:
            yield named
            return
        folder = io.atomic.new_folder("runs", self.preset if self.config is None else Path(self.config).stem)
        print(f"anyorder: writing to {folder}", file=sys.stderr)
        try:
            yield str(folder)
        finally:
            with contextlib.suppress(OSError):  # not empty
                folder.rmdir()
                folder.parent.rmdir()


def models_table(summary: training.Summary) -> Group:
    """A table of the models of a run, next to the floor."""
    reference = summary.reference
    floor = reference.floor_excess
    title = f"true loss {reference.true_loss:.4f} nats per token, " + (
        str(reference.no_floor) if floor is None else f"Bayes floor {floor:.4f} above it"
    )
    rows = []
    for model in summary.models:
        gap = "" if model.gap is None else f"{model.gap:+.5f} ± {model.gap_error:.5f}"
        matching = ", ".join("/".join(f"{head.matching_mass:.2f}" for head in heads) for heads in model.attention)
        offsets = "/".join(f"{sum(head.offset_mass):.2f}" for heads in model.attention[:1] for head in heads)
        nearest = f"{model.follows} ({model.divergence[model.follows].mean:.4f})"
        rows.append((model.seed, model.learning_rate, model.excess, gap, nearest, matching, offsets))
    columns = {"seed": "", "rate": "g", "excess": ".4f", "gap to the floor": "", "nearest predictor": ""}
    columns |= {"matching mass": "", "at 1 … k": ""}
    kgram = reference.kgram
    notes = [
        f"nearest predictor: of {', '.join(reference.predictors)}, that of least D(predictor ‖ model), in nats",
        "matching mass: attention on the matching positions in layer 1, 2, … (heads separated by /); uniform attention "
        f"has {reference.chance_matching_mass:.2f}. at 1 … k: attention of layer 1 at offsets 1 … k",
        f"k-gram: defined at {kgram.coverage:.1%} of the positions; there the next token had "
        f"probability zero {kgram.missed_probability:.1%} of the time" + (", so its loss is infinite" * kgram.infinite),
    ]
    if reference.fixed_orders:
        fixed = ", ".join(f"{one.order}: {one.excess:.4f}" for one in reference.fixed_orders)
        notes.append(f"excess of add-β smoothing of a fixed order: {fixed}")
    if summary.mean_gap is not None:
        notes.insert(0, f"mean gap {summary.mean_gap:+.5f}, largest {summary.largest_gap:+.5f} nats")
    notes += sorted({model.note for model in summary.models if model.note is not None})
    return Group(table(columns, rows, title), *notes)


class Evaluate(Command):
    """Measure the models of a run again, on the chains they were trained on or on others.

    Examples:
      anyorder evaluate run
      anyorder evaluate run --length 128 --count 16384 --json
      anyorder evaluate run --order 3 --transition-noise 0.1
    """

    next = "anyorder show {run_folder}"
    run_folder: Annotated[str, tyro.conf.Positional, tyro.conf.arg(metavar="DIR"), Gate("read")]
    """The --out folder of a training run; its last checkpoint is measured."""
    order: int | None = None
    """Order of the chains; by default that of the run, as for the options below."""
    length: int | None = None
    """T: sequences have T + 1 tokens."""
    token_noise: float | None = None
    """Probability with which each token is replaced by a different one."""
    transition_noise: float | None = None
    """Weight of a fresh random kernel in every step."""
    count: int | None = None
    """Number of evaluation sequences."""
    seed: int | None = None
    """Seed of the evaluation sequences."""

    def run(self) -> Outcome:
        """Read the checkpoint, measure, and tabulate."""
        devices.prepare()
        config = training.read_config(Path(self.run_folder))
        wanted = facts(self, "order", "length", "token_noise", "transition_noise")
        wanted |= {"evaluation_count": self.count, "evaluation_seed": self.seed}
        changed = configs.changed(config, {name: value for name, value in wanted.items() if value is not None})
        check_config(changed)
        if self.order is not None:
            changed.data.check_window()
        step, models = training.read_models(self.run_folder)
        summary = training.summarised(config, step, models, training.evaluation_set(*changed.evaluation))
        trained, length = config.data.length, changed.data.length
        longer = f"\nnote: sequences have {length} tokens, the models were trained on {trained}" * (length > trained)
        report = {"run": self.run_folder, "data": changed.data, "trained_length": trained, **vars(summary)}
        return Outcome(report, Group(models_table(summary), f"run: {self.run_folder}, step {step}{longer}"))


class Show(Command):
    """Draw a run: loss curve, attention against pseudo-attention, excess at every position against the floor.

    Examples:
      anyorder show run
      anyorder show run --model 2 --out figures
      anyorder show sweep

    For a sweep: its metric over the axes, and the best config as a command to copy.
    """

    next = "anyorder probe {run_folder}"
    run_folder: Annotated[str, tyro.conf.Positional, tyro.conf.arg(metavar="DIR"), Gate("read")]
    """The --out folder of a training run or a sweep, finished or not."""
    out: Annotated[str | None, Gate("fill")] = None
    """Folder for index.html and the figures; by default DIR."""
    model: int = 0
    """Index of the model whose attention is drawn; 0 is the first seed."""
    sequence: int | None = None
    """Index of the evaluation sequence for the attention map; by default one whose last tokens occurred before."""

    def next_step(self, report: Mapping[str, object]) -> str:
        """The suggested next command; after a sweep, the command of its best config."""
        return str(report["command"] or "") if "sweep" in report else super().next_step(report)

    def run(self) -> Outcome:
        """Read the run, draw, and report the paths of the figures."""
        from anyorder.cli import sweep
        from anyorder.sweeps.table import is_sweep

        folder = Path(self.out or self.run_folder)
        if is_sweep(Path(self.run_folder)):
            return sweep.show(Path(self.run_folder), folder)
        devices.prepare()
        from anyorder.report.training import write_run

        paths = write_run(folder, Path(self.run_folder), self.model, self.sequence)
        report = {"run": self.run_folder, **{name: str(path) for name, path in paths.items()}}
        return Outcome(report, "\n".join(f"{name}: {path}" for name, path in paths.items()))
