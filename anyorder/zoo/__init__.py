"""Trained models that come with the package: `anyorder.load("zoo:NAME")`.

Each is a model file with a card beside it, JSON with data, recipe, gap to the floor and orders of heads. Nothing here
imports NumPy. `python -m benchmarks.zoo` trains them again.
"""

from __future__ import annotations

from pathlib import Path

from anyorder.errors import InputError, nearest
from anyorder.io.atomic import Row, read_json
from anyorder.io.gates import gated

FOLDER = Path(__file__).parent
PREFIX = "zoo:"


def names() -> list[str]:
    """Every model, by name.

    >>> "fast" in names()
    True
    """
    return sorted(file.stem for file in FOLDER.glob("*.safetensors"))


@gated
def card(name: str) -> Row:
    """The card of a model.

    >>> card("fast")["order"]
    2
    """
    return read_json(located(PREFIX + name).with_suffix(".json"), "a card of the zoo")


@gated
def located(path: str | Path) -> Path:
    """The file of `zoo:NAME`; other paths unchanged.

    >>> located("zoo:fast").name, located("run/model-0.safetensors").name
    ('fast.safetensors', 'model-0.safetensors')
    """
    if not str(path).startswith(PREFIX):
        return Path(path)
    name = str(path).removeprefix(PREFIX)
    if name not in names():
        raise InputError(f"no model {name!r} in the zoo; {nearest(name, names())}")
    return FOLDER / f"{name}.safetensors"
