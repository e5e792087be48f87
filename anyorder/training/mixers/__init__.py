"""Mixers, by which the rows of a layer read earlier rows: one file each, with initial weights and recipe.

Nothing here imports JAX: a mixer is imported when it is first used.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from anyorder.io.plugins import Registry

if TYPE_CHECKING:
    from anyorder.training.config import Config

    Draw = Callable[..., Any]


@dataclasses.dataclass(frozen=True)
class Mixer:
    """One kind of layer.

    parts: maps the config, the index of the layer and `draw` to the fields of `models.Layer` that mix rows: `heads`,
        and possibly `convolution`. `draw(kind, *shape)` returns random weights; a kind is `matrix`, `projection` (to
        the stream), `embedding` or `output`.
    recipe: maps the order of the chains to the settings of the preset `fast` that differ with this mixer.
    name: required for a mixer defined in a program; in a plug-in it is the name of the variable, with hyphens.
    """

    parts: Callable[[Config, int, Draw], Mapping[str, Any]]
    recipe: Callable[[int], Mapping[str, Any]] = lambda order: {}
    name: str | None = None


MIXERS: Registry[Mixer] = Registry(
    "mixer",
    {name: f"anyorder.training.mixers.{name}:{name.upper()}" for name in ("attention", "convolution", "mamba")},
    lambda variable, value: variable.lower().replace("_", "-") or value.name if isinstance(value, Mixer) else None,
)


def recipe(mixers: Iterable[str], order: int) -> dict[str, Any]:
    """The settings of `fast` that differ with these mixers; unknown names are rejected, attention is not imported.

    >>> recipe(["attention"], 2)
    {}
    """
    found: dict[str, Any] = {}
    for mixer in mixers:
        if mixer != "attention":
            found |= MIXERS.find(mixer).recipe(order)
    return found


def mixer_names(mixers: str | Mixer | Sequence[str | Mixer]) -> tuple[str, ...]:
    """The names of mixers, each given by its name or itself.

    >>> mixer_names("mamba"), mixer_names([MIXERS["attention"], "mamba"])
    (('mamba',), ('attention', 'mamba'))
    """
    return tuple(map(MIXERS.name_of, mixers if isinstance(mixers, list | tuple) else (mixers,)))
