"""`anyorder probe`."""

from __future__ import annotations

import shlex
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import tyro
from rich.console import Group, RenderableType
from rich.table import Table

import anyorder
from anyorder.cli.command import Command, Outcome, progress, table
from anyorder.errors import require
from anyorder.io import plugins
from anyorder.io.gates import Gate

if TYPE_CHECKING:  # JAX takes a second to import: not for --help
    from anyorder.papers.experiment import TableRow

#: Number of heads in the table.
SHOWN = 20


class Probe(Command):
    """Measure the order of induction of every head of a model, with controls.

    Examples:
      anyorder probe construction:unrolled --order 3
      anyorder probe run --out probed
      anyorder probe SmolLM2.gguf --ablate --out probed
      anyorder probe SmolLM2.gguf --layers 17 18 20 --json

    MODEL is a run folder, a .safetensors model of anyorder, a Hugging Face folder, a .gguf file, a .npz with
    attention and tokens, or construction:NAME.
    """

    model: Annotated[str, tyro.conf.Positional, tyro.conf.arg(metavar="MODEL"), Gate("read")]
    """The model to probe."""
    sequences: int = 48
    """Number of test sequences, over which standard errors are taken."""
    length: int | None = None
    """Tokens per sequence; by default 192, or the context length of the model if that is shorter."""
    symbols: int | None = None
    """Distinct tokens in a sequence; by default as many, up to 4, as leave every agreement pattern frequent."""
    max_length: int | None = None
    """Largest offset K to compare; by default 5, or a construction's order plus one; less for short sequences."""
    layers: tuple[int, ...] | None = None
    """Layers to probe, counted from 0; all by default."""
    ablate: bool = False
    """Also ablate the strongest heads, then random heads, and measure the loss on repeated tokens."""
    paths: bool = False
    """Also find, by path patching, the earlier heads that supply tokens to the eight strongest heads."""
    order: int | None = None
    """Order of a construction."""
    alphabet_size: int = 4
    """Symbols of a construction."""
    member: int = 0
    """Index of the model in a run folder; 0 is the first seed."""
    seed: int = 0
    """Random seed; equal seeds give equal sequences."""
    out: Annotated[str | None, Gate("fill")] = None
    """Folder for index.html, probe.png, and probe.json with attention maps for the explorer."""

    def next_step(self, report: Mapping[str, object]) -> str:
        """Save the result, or explore the saved one."""
        if self.out is not None:
            return shlex.join(["anyorder", "explore", "--models", self.out]) + plugins.flags()
        order = [] if self.order is None else ["--order", str(self.order), "--alphabet-size", str(self.alphabet_size)]
        return shlex.join(["anyorder", "probe", self.model, *order, "--out", "probed"]) + plugins.flags()

    def run(self) -> Outcome:
        """Open, measure, draw, and tabulate."""
        result = self._measure()
        report = anyorder.probing.as_json(result)
        shown: list[RenderableType] = [_table(result), *_notes(result)]
        if self.out is not None:
            from anyorder.io.atomic import locked
            from anyorder.report.probe import write_probe

            with locked(self.out):
                page = write_probe(Path(self.out), result, _rows(result), _notes(result), self.next_step(report))
            report |= {"out": self.out, "page": str(page)}
            shown.append(f"page: {page}, beside probe.json and probe.png")
        return Outcome(report, Group(*shown))

    def _measure(self) -> anyorder.probing.Probed:
        longest = max(5, (self.order or 0) + 1) if self.max_length is None else self.max_length
        if Path(self.model).suffix == ".npz":
            from anyorder.probing.adapters.arrays import probe_recorded

            require(
                not (self.ablate or self.paths),
                f"{self.model} contains recorded attention but no model to run; drop --ablate and --paths",
            )
            return probe_recorded(self.model, max_length=longest, layers=self.layers)
        settings = anyorder.probing.Settings(self.sequences, self.length, self.symbols, longest, self.layers, self.seed)
        with progress() as bar:
            task = bar.add_task("opening", total=None)
            model = anyorder.probing.open_model(
                self.model, settings, order=self.order, alphabet_size=self.alphabet_size, member=self.member
            )
            longest = settings.decided(model).max_length
            require(
                self.max_length in (None, longest),
                f"max length is {self.max_length}, sequences of this length allow at most {longest}; "
                f"pass `max_length={longest}`, or a larger `length=`",
            )
            bar.update(task, description="probing")
            return anyorder.probe(
                model,
                settings,
                ablate=self.ablate,
                follow=self.paths,
                watch=lambda done, total: bar.update(task, completed=done, total=total),
            )


def _rows(result: anyorder.probing.Probed) -> list[TableRow]:
    """The rows of the table, best heads first; the page shows the same."""
    others = [head for head in result.heads if head.kind in ("skip", "diffuse")]
    best = [*result.strongest, *sorted(others, key=lambda head: -head.contrast)]
    rows: list[TableRow] = []
    for head in best[:SHOWN]:
        profile, needed = head.agreement, " ".join(map(str, head.needed)) or "–"
        rows.append(
            {
                "head": f"L{head.layer} H{head.head}",
                "kind": head.in_words,
                "needs": needed,
                "all agree": f"{profile.all:.1f}",
                "flipped 1 …": profile.flipped,
                "alone 1 …": profile.alone,
                "none": f"{profile.none:.1f}",
            }
        )
    return rows


def _table(result: anyorder.probing.Probed) -> Table:
    """The rows as a terminal table, with the numbers of a tuple in one cell."""
    rows = [
        [" ".join(f"{value:.1f}" for value in cell) if isinstance(cell, tuple) else cell for cell in row.values()]
        for row in _rows(result)
    ]
    names = list(_rows(result)[0]) if rows else []
    return table(dict.fromkeys(names, ""), rows, f"{result.model}: {result.in_words}")


def _notes(result: anyorder.probing.Probed) -> list[str]:
    placebo, acts, off, settings = result.controls.no_repeat, result.behaviour, result.ablation, result.settings
    notes = [
        "attention, relative to the mean of the row, on keys where all K offsets agree, all but one, one or none; "
        f"K is {result.max_length}, sequences have {settings['length']} tokens"
        + (f", more than the model's {settings['made_for']}" if settings.get("beyond") else "")
    ]
    if not result.strongest:
        notes.append("no head has an order")
    if placebo is not None:
        notes.append(f"no-repeat control: {placebo.heads_above} of {placebo.heads} heads above their threshold")
    if acts is not None:
        said = ", ".join(
            f"{'none' if order is None else order} at {first} to {last}"
            for order, (first, last) in zip(acts.order, acts.positions, strict=True)
        )
        notes.append(f"order of the nearest predictor, by position: {said}")
    if off is not None:
        random = " to ".join(f"{value:.2f}" for value in (min(off.random), max(off.random))) if off.random else "–"
        notes.append(
            f"loss on repeats {off.whole:.2f} nats; without the {len(off.heads)} strongest heads {off.without:.2f}; "
            f"without as many random heads of the same layers {random}"
        )
    if result.paths is not None:
        notes += [path.in_words for path in result.paths] or ["no head gets tokens from an earlier layer"]
    return notes
