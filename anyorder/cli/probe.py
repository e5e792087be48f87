"""`anyorder probe`."""

from __future__ import annotations

import dataclasses
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import tyro
from rich.console import Group, RenderableType
from rich.table import Table

from anyorder.cli.command import Command, Outcome, progress, table

if TYPE_CHECKING:  # JAX takes a second to import: not for --help
    from anyorder.probing import Probed

#: Heads that the table shows.
SHOWN = 20


@dataclasses.dataclass(frozen=True, kw_only=True)
class Probe(Command):
    """Tell the order of induction of every head of a model, with controls beside it.

    Examples:
      anyorder probe construction:unrolled --order 3
      anyorder probe run --out probed
      anyorder probe SmolLM2.gguf --ablate --out probed
      anyorder probe SmolLM2.gguf --layers 17 18 20 --json

    MODEL is a run folder, a .safetensors model of anyorder, a Hugging Face folder, a .gguf file of a Llama, a .npz
    with attention and tokens, or construction:NAME.
    """

    fills = ("out",)
    model: Annotated[str, tyro.conf.Positional, tyro.conf.arg(metavar="MODEL")]
    """What to probe."""
    sequences: int = 48
    """Test sequences; errors are over these."""
    length: int | None = None
    """Tokens in each; by default 192, or more where the match lengths need more."""
    symbols: int | None = None
    """Different tokens in a sequence; by default the smaller of 4 and the vocabulary."""
    max_length: int | None = None
    """K: match lengths are told apart up to this; by default 5, or the order of a construction and one."""
    layers: tuple[int, ...] | None = None
    """Layers to probe, counted from 0; all by default."""
    ablate: bool = False
    """Also switch off the best heads, and random ones, and measure the loss on repeated tokens."""
    order: int | None = None
    """Order of a construction."""
    alphabet_size: int = 4
    """Symbols of a construction."""
    member: int = 0
    """Which model of a run folder: 0 is that of the first seed."""
    seed: int = 0
    """The same seed gives the same sequences."""
    out: str | None = None
    """Folder for probe.json, with attention maps for the explorer, and probe.png."""

    def run(self) -> Outcome:
        """Open, measure, draw, and tabulate."""
        from anyorder.probing import as_json

        result = self._measure()
        report = as_json(result)
        shown: list[RenderableType] = [_table(result), *_notes(result)]
        if self.out is not None:
            from anyorder.io.atomic import write_json
            from anyorder.report.probe import draw_probe
            from anyorder.report.style import write_figure

            paths = {name: Path(self.out) / f"probe.{name}" for name in ("json", "png")}
            write_json(paths["json"], as_json(result, maps=True))
            write_figure(draw_probe(result), paths["png"])
            report["out"] = self.out
            shown.append(f"written: {paths['json']}, {paths['png']}")
        return Outcome(report, Group(*shown))

    def _measure(self) -> Probed:
        from anyorder.probing import Settings, probe
        from anyorder.probing.adapters.choose import open_model

        longest = max(5, (self.order or 0) + 1) if self.max_length is None else self.max_length
        if Path(self.model).suffix == ".npz":
            from anyorder.probing.adapters.arrays import probe_recorded

            return probe_recorded(self.model, max_length=longest, layers=self.layers)
        settings = Settings(self.sequences, self.length, self.symbols, longest, self.layers, self.seed)
        with progress() as bar:
            task = bar.add_task("opening", total=None)
            model = open_model(
                self.model, settings, order=self.order, alphabet_size=self.alphabet_size, member=self.member
            )
            bar.update(task, description="probing")
            return probe(
                model,
                settings,
                ablate=self.ablate,
                watch=lambda done, total: bar.update(task, completed=done, total=total),
            )


def _table(result: Probed) -> Table:
    best = result.strongest
    title = f"{result.model}: {len(best)} of {len(result.heads)} heads have an order"
    rows = []
    for head in best[:SHOWN]:
        found = head.found
        order = f"{'≥ ' * found.capped}{found.order}{' graded' * found.graded}{' bag' * (head.kind == 'bag')}"
        mean = f"{found.mean:.2f} ± {found.mean_error:.2f}"
        spectrum = " ".join(f"{value:.1f}" for value in head.spectrum)
        permuted = None if head.kind is None else head.scores["permuted"]
        rows.append((f"L{head.layer} H{head.head}", order, mean, spectrum, head.scores["distractor"], permuted))
    columns = {"head": "", "order": "", "mean step": "", "spectrum, ℓ = 0 …": "", "k - 1": ".2f", "permuted": ".2f"}
    return table(columns, rows, title)


def _notes(result: Probed) -> list[str]:
    placebo, acts, off = result.controls.no_repeat, result.behaviour, result.ablation
    notes = [
        "spectrum: attention over chance by match length ℓ; k - 1 and permuted: attention to keys that share only the "
        "last k - 1 tokens, or the last k in another order, over that to matches"
    ]
    if placebo is not None:
        notes.append(f"no-repeat control: {placebo.heads_above} of {placebo.heads} heads above their threshold")
    if acts is not None:
        said = ", ".join(
            f"{'–' if order is None else order} at {first} to {last}"
            for order, (first, last) in zip(acts.order, acts.positions, strict=True)
        )
        notes.append(f"predictions are nearest to those of order {said}")
    if off is not None:
        random = " to ".join(f"{value:.2f}" for value in (min(off.random), max(off.random))) if off.random else "–"
        notes.append(
            f"loss on repeats {off.whole:.2f} nats; without the {len(off.heads)} best heads {off.without:.2f}; "
            f"without as many random ones of their layers {random}"
        )
    return notes
