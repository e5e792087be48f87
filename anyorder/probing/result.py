"""What a measurement found, typed, and the JSON that the command prints."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping

import numpy as np
from jaxtyping import Float, Int

from anyorder.io import trees
from anyorder.io.notebook import as_html
from anyorder.probing.ablation import Ablation
from anyorder.probing.behaviour import Behaviour
from anyorder.probing.order import Order
from anyorder.probing.protocol import Place


@dataclasses.dataclass(frozen=True)
class ProbedHead:
    """One head. `kind` is "k-gram" or "bag" for a head with an order of at least 2, None for others."""

    layer: int
    head: int
    found: Order
    kind: str | None
    spectrum: tuple[float, ...]
    spectrum_error: tuple[float, ...]
    sink_mass: float
    scores: dict[str, float]

    @property
    def place(self) -> Place:
        """Its layer, and its number there."""
        return self.layer, self.head


@dataclasses.dataclass(frozen=True)
class Placebo:
    """Sequences without repeats, on which no head can match: how many heads would be given an order.

    `largest_contrast` may exceed the least contrast of an order by noise: an order also needs a significant excess.
    """

    sequences: int
    heads: int
    heads_above: int
    largest_contrast: float


@dataclasses.dataclass(frozen=True)
class HeldOut:
    """Heads that have an order on the even sequences, and those of all whose order the odd ones confirm."""

    chosen_on_one_half: int
    confirmed: int


@dataclasses.dataclass(frozen=True)
class Controls:
    """Numbers about all heads together; `no_repeat` is None where the vocabulary is too small for it."""

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
    """All that was measured on a model, and with which settings."""

    model: str
    heads: tuple[ProbedHead, ...]
    behaviour: Behaviour | None
    controls: Controls
    settings: Mapping[str, object]
    ablation: Ablation | None = None
    maps: Maps | None = None

    def __repr__(self) -> str:
        best = self.strongest[:3]
        named = ", ".join(f"[{head.layer}, {head.head}] of order {head.found.order}" for head in best) or "none"
        more = ", …" if len(self.strongest) > len(best) else ""
        return f"Probed({self.model!r}, {len(self.strongest)} of {len(self.heads)} heads with an order: {named}{more})"

    def _repr_html_(self) -> str:
        found = {
            f"layer {head.layer}, head {head.head}": f"order {head.found.order}, contrast {head.found.contrast:.3g}"
            for head in self.strongest
        }
        return as_html(f"{self.model}: {len(found)} of {len(self.heads)} heads with an order", found)

    @property
    def max_length(self) -> int:
        """K, the longest match length that is told apart."""
        return len(self.heads[0].spectrum) - 1

    @property
    def strongest(self) -> list[ProbedHead]:
        """The heads that have an order, the largest contrast first."""
        with_order = [head for head in self.heads if head.found.order is not None]
        return sorted(with_order, key=lambda head: -head.found.contrast)


def as_json(result: Probed, *, maps: bool = False) -> dict[str, object]:
    """The result as JSON values, numbers that JSON does not have as null; `maps` adds attention, in thousandths."""
    report = trees.as_json(dataclasses.replace(result, maps=None))
    del report["maps"]
    # What was found of a head stands beside its place.
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
