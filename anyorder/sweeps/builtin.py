"""Sweeps by name."""

from __future__ import annotations

from pathlib import Path

from anyorder.errors import InputError, nearest
from anyorder.io.plugins import Registry
from anyorder.sweeps import spec
from anyorder.sweeps.spec import Success, Sweep
from anyorder.training.config import preset


def phase(
    orders: tuple[int, ...] = (1, 2, 3, 4),
    lengths: tuple[int, ...] = (16, 32, 64),
    dimensions: tuple[int, ...] = (16, 64),
    seeds: int = 3,
    steps: int = 1000,
) -> Sweep:
    """The sweep `phase`: success of gradient descent over order, length and width.

    It uses the floor recipe with fewer steps, so that some settings succeed with only part of the seeds.

    >>> phase().count
    72
    """
    base = preset("floor", steps=steps, batch=32, evaluation_count=2048)
    axes = {"dimension": dimensions, "order": orders, "length": lengths}
    return spec.sweep("phase", base, axes, seeds=seeds, metric="success", success=Success(gap=0.005, attention=0.5))


def learning_rate() -> Sweep:
    """The sweep `learning-rate`: the floor recipe over two decades around its own rate.

    >>> learning_rate().axes["learning_rate"]
    (0.0003, 0.001, 0.003, 0.01, 0.03)
    """
    rates = [3e-4, 1e-3, 3e-3, 1e-2, 3e-2]
    base = preset("floor", steps=1000)
    return spec.sweep("learning-rate", base, {"learning_rate": rates}, seeds=3)


#: Every sweep, by name.
SWEEPS: Registry[Sweep] = Registry("sweep", {"phase": phase(), "learning-rate": learning_rate()}, Sweep)


def find(name: str) -> Sweep:
    """A sweep by name, or from a TOML file."""
    if name in SWEEPS:
        return SWEEPS[name]
    if not name.endswith(".toml") and not Path(name).exists():
        raise InputError(f"{name!r} is neither a TOML file nor a sweep; {nearest(name, SWEEPS)}")
    return spec.read_toml(name)
