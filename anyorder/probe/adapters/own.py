"""Models of this package by name: a construction, a saved model, the folder of a training run."""

from __future__ import annotations

from pathlib import Path

from anyorder.errors import require
from anyorder.probe.models import OwnModel


def constructed(name: str, *, order: int, alphabet_size: int, length: int) -> OwnModel:
    """A construction, certified for test sequences of this length.

    >>> constructed("dyadic", order=2, alphabet_size=3, length=192).heads
    (1, 1)
    """
    from anyorder.constructions import construct

    model = construct(name, order=order, alphabet_size=alphabet_size, length=length)
    return OwnModel(model, f"{name}, order {order}", {"construction": name, "order": order})


def saved(path: str | Path) -> OwnModel:
    """A model that `anyorder.save` wrote."""
    from anyorder.transformer import load

    return OwnModel(load(path), Path(path).name)


def trained(folder: str | Path, number: int = 0) -> OwnModel:
    """A model of a training run, as its last checkpoint has it."""
    from anyorder.training.folder import read_models

    step, models = read_models(Path(folder))
    require(0 <= number < len(models), f"member is {number}, the run in {folder} has 0 to {len(models) - 1}")
    return OwnModel(models[number], f"{Path(folder).name}, model {number}, step {step}", {"step": step})
