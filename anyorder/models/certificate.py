"""The certificate of a constructed model; `anyorder.constructions` derives it."""

from __future__ import annotations

import dataclasses
from typing import Any

from anyorder.io.notebook import as_html


@dataclasses.dataclass(frozen=True)
class Certificate:
    """The guarantee of one construction: the largest distance of its output from the estimator it computes.

    `margin` separates the score of an exact match from that of the nearest miss, in units of `kappa`;
    `bound` is the largest additive error of one probability, over all sequences up to `length`;
    `rounding` says whether the rounding of scores is bounded by a derivation, or extrapolated from an exhaustive
    measurement in small number types;
    `bits_needed` are the mantissa bits that the order needs, `mantissa_bits` those of the dtype;
    `options` are the construction's own options, as (name, value). `assumes` lists the assumptions
    about the backend's arithmetic, which a verification checks first. `weights` is the digest of the certified weights.
    """

    construction: str
    order: int
    alphabet_size: int
    length: int
    dtype: str
    target_error: float
    estimator: str
    margin: float
    kappa: float
    bound: float
    bits_needed: int
    mantissa_bits: int
    options: tuple[tuple[str, bool | int | float], ...] = ()
    assumes: tuple[str, ...] = ()
    rounding: str = ""
    weights: str = dataclasses.field(default="", compare=False)

    def as_dict(self) -> dict[str, Any]:
        """The fields as a plain dictionary, for JSON."""
        return dataclasses.asdict(self) | {"options": dict(self.options)}

    def _repr_html_(self) -> str:
        return as_html(f"Certificate of {self.construction}, order {self.order}", self.as_dict())
