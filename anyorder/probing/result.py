"""The result of a measurement, and its JSON form."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping

import numpy as np
from jaxtyping import Float, Int

from anyorder.io import trees
from anyorder.io.gates import gated
from anyorder.io.notebook import as_html
from anyorder.probing.ablation import Ablation
from anyorder.probing.agreement import Agreement, ScoreFit
from anyorder.probing.behaviour import Behaviour
from anyorder.probing.order import Order
from anyorder.probing.paths import Path
from anyorder.probing.protocol import Place


@dataclasses.dataclass(frozen=True)
class ProbedHead:
    """One head, with its agreement profile and its match-length spectrum.

    `kind` is "k-gram" (needs exactly offsets 1 … k: order k), "bag" (the same tokens in any order), "graded" (attention
    grows with the length of the matching suffix: no single order), "skip" (needs a set of offsets with gaps), "diffuse"
    (any other rise with agreement) or "none". `needed` are the needed offsets; `mean_length` is the mean match
    length at which attention rises and `weights` the share of the rise at 1 … K.
    """

    layer: int
    head: int
    found: Order
    kind: str
    needed: tuple[int, ...]
    mean_length: float
    weights: tuple[float, ...]
    agreement: Agreement
    agreement_error: Agreement
    score_fit: ScoreFit
    spectrum: tuple[float, ...]
    spectrum_error: tuple[float, ...]
    sink_mass: float
    scores: dict[str, float]

    @property
    def place(self) -> Place:
        """Layer and number of the head."""
        return self.layer, self.head

    @property
    def contrast(self) -> float:
        """Attention if all offsets agree minus attention if none does, relative to the mean of the row."""
        return self.agreement.all - self.agreement.none

    @property
    def in_words(self) -> str:
        """The order in words, or the kind of a head without an order."""
        if self.found.order is not None:
            return f"of order {'≥ ' * self.found.capped}{self.found.order}{', a bag' * (self.kind == 'bag')}"
        if self.found.graded:
            return f"graded, mean length {self.mean_length:.1f}"
        return "without order" if self.kind == "none" else f"{self.kind}, without order"


@dataclasses.dataclass(frozen=True)
class Placebo:
    """Control on sequences without repeated tokens: `heads_above` heads would be (wrongly) given an order.

    `largest_contrast` may exceed the threshold by chance, because an order also requires significance.
    """

    sequences: int
    heads: int
    heads_above: int
    largest_contrast: float


@dataclasses.dataclass(frozen=True)
class HeldOut:
    """Number of heads that compare tokens on the even sequences, and on both the even and the odd ones."""

    chosen_on_one_half: int
    confirmed: int


@dataclasses.dataclass(frozen=True)
class Controls:
    """Controls over all heads; `no_repeat` is None if the vocabulary is too small for sequences without repeats."""

    held_out: HeldOut
    level: float
    no_repeat: Placebo | None = None


@dataclasses.dataclass(frozen=True)
class Maps:
    """Attention of some heads, by layer and number, on the beginning of one test sequence."""

    tokens: Int[np.ndarray, "rows"]
    attention: Mapping[Place, Float[np.ndarray, "rows rows"]]


@dataclasses.dataclass(frozen=True)
class Probed:
    """The measurements on a model, and their settings."""

    model: str
    heads: tuple[ProbedHead, ...]
    behaviour: Behaviour | None
    controls: Controls
    settings: Mapping[str, object]
    ablation: Ablation | None = None
    paths: tuple[Path, ...] | None = None
    maps: Maps | None = None

    def __repr__(self) -> str:
        best = self.strongest[:3]
        named = ", ".join(f"[{head.layer}, {head.head}] {head.in_words}" for head in best) or "none"
        more = ", …" if len(self.strongest) > len(best) else ""
        return f"Probed({self.model!r}, {len(self.strongest)} of {len(self.heads)} heads match: {named}{more})"

    def _repr_html_(self) -> str:
        found = {
            f"layer {head.layer}, head {head.head}": f"{head.in_words}, contrast {head.contrast:.3g}"
            for head in self.strongest
        }
        return as_html(f"{self.model}: {len(found)} of {len(self.heads)} heads match", found)

    def detect(self, order: int | None = None) -> dict[str, list[Place]]:
        """Heads as (layer, head) by kind, strongest first; `order` restricts them to one order."""
        found: dict[str, list[Place]] = {}
        for head in sorted(self.heads, key=lambda head: -np.nan_to_num(head.contrast)):
            if order is None or head.found.order == order:
                found.setdefault(head.kind, []).append(head.place)
        return found

    @property
    def max_length(self) -> int:
        """K, the largest match length; longer matches count as K."""
        return len(self.heads[0].spectrum) - 1

    @property
    def in_words(self) -> str:
        """The numbers of heads with an order and of graded heads, in words."""
        ordered = sum(head.found.order is not None for head in self.strongest)
        graded = len(self.strongest) - ordered
        also = f", {graded} attend{'s' * (graded == 1)} more the longer the match, without one order" if graded else ""
        return f"{ordered} of {len(self.heads)} heads ha{'s' if ordered == 1 else 've'} an order{also}"

    @property
    def strongest(self) -> list[ProbedHead]:
        """Heads that have an order or are graded, by decreasing contrast."""
        matching = [head for head in self.heads if head.found.order is not None or head.found.graded]
        return sorted(matching, key=lambda head: -head.contrast)


@gated
def as_json(result: Probed, *, maps: bool = False) -> dict[str, object]:
    """The result as JSON values, with NaN and infinity as null; `maps` adds attention in thousandths."""
    report = trees.as_json(dataclasses.replace(result, maps=None))
    del report["maps"]
    # In JSON the fields of `found` belong to the head itself.
    report["heads"] = [
        {"layer": head.pop("layer"), "head": head.pop("head"), **head.pop("found"), **head} for head in report["heads"]
    ]
    if maps and result.maps is not None:
        report["maps"] = {
            "tokens": result.maps.tokens.tolist(),
            "heads": [
                {"layer": layer, "head": head, "thousandths": [row[: place + 1] for place, row in enumerate(whole)]}
                for (layer, head), attention in result.maps.attention.items()
                for whole in [np.rint(1000 * attention).astype(int).tolist()]
            ],
        }
    return report
