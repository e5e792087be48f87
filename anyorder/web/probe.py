"""Results of `anyorder probe` in the folders of the explorer: the list, and a single checked result."""

from __future__ import annotations

from typing import Annotated, TypeVar

from pydantic import BaseModel, FailFast, Field, ValidationError

from anyorder.errors import InputError, require
from anyorder.io.atomic import read_json
from anyorder.web import limits
from anyorder.web.library import PROBE, SHIPPED_NAME, Library, fits
from anyorder.web.schema import Asked

#: The recorded language model that comes with the package.
SHIPPED_PROBE = f"{SHIPPED_NAME}/{PROBE}"

T = TypeVar("T")
#: A list whose validation stops at the first wrong entry: millions of errors would take gigabytes.
Many = Annotated[list[T], FailFast()]


class ProbeInfo(BaseModel):
    """An entry of the list: a result, or the reason why it cannot be opened."""

    path: str
    title: str
    why: str | None = None


class ProbeRequest(Asked):
    """The result to open."""

    path: Annotated[str, Field(max_length=500)]


class ProbeProfile(BaseModel):
    """Attention relative to an average key if all offsets agree, one is flipped, only one agrees, or none agrees."""

    all: float | None
    flipped: Many[float | None]
    alone: Many[float | None]
    none: float | None


class ProbeHead(BaseModel):
    """One head: its order if any, its agreement profile with errors, and further numbers."""

    layer: int
    head: int
    order: int | None
    graded: bool
    capped: bool = False
    kind: str | None = None
    mean_length: float | None = None
    needed: Many[int] = []
    agreement: ProbeProfile | None = None
    agreement_error: ProbeProfile | None = None
    sink_mass: float | None
    scores: Annotated[dict[str, float | None], Field(max_length=1000)]


class ProbeMap(BaseModel):
    """The attention of a head on one sequence: row n has the keys 0 … n, in thousandths."""

    layer: int
    head: int
    thousandths: Many[Many[int]]


class ProbeMaps(BaseModel):
    """One sequence, and the maps of the heads that have an order."""

    tokens: Many[int]
    heads: Many[ProbeMap]


class ProbePlacebo(BaseModel):
    """The no-repeat control."""

    heads: int
    heads_above: int
    largest_contrast: float | None


class ProbeControls(BaseModel):
    """Numbers about all heads together."""

    no_repeat: ProbePlacebo | None = None


class ProbeView(BaseModel):
    """A result of the probe."""

    model: Annotated[str, Field(max_length=1000)]
    heads: Many[ProbeHead]
    controls: ProbeControls
    maps: ProbeMaps | None = None


def listed(library: Library) -> list[ProbeInfo]:
    """Every result in the folders, by its path, then that of the package; those that cannot be opened last."""

    def look(_: object, path: str) -> ProbeInfo:
        _, target = library.locate(path)
        size = target.stat().st_size
        require(
            size <= limits.MOST_LISTED_PROBE,
            f"{PROBE} has {size / 1e6:.1f} MB, lists read at most {limits.MOST_LISTED_PROBE / 1e6:g} MB; "
            "probe fewer layers",
        )
        model = opened(library, path).model
        return ProbeInfo(path=path, title=model if path == SHIPPED_PROBE else f"{model} ({path})")

    shown, left_out = library.looked(("probe",), look)
    return sorted(shown, key=lambda one: one.path == SHIPPED_PROBE) + [
        ProbeInfo(path=one.path, title=f"{one.path}, which cannot be opened", why=one.why) for one in left_out
    ]


def opened(library: Library, path: str) -> ProbeView:
    """One result, or an `InputError` that names it as the page does."""
    _, target = library.locate(path)
    require(
        target.name == PROBE and target.is_file(), f"{path} is not a {PROBE}; give the file written by anyorder probe"
    )
    fits(target)
    try:
        return ProbeView.model_validate(read_json(target, "a result of anyorder probe"))
    except ValidationError:
        raise InputError(f"{path} is not a complete result of anyorder probe; write it again") from None
