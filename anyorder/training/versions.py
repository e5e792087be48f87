"""The versions that the numbers of a run depend on, besides its config."""

from __future__ import annotations

import platform
from collections.abc import Mapping
from importlib import metadata


def versions() -> dict[str, str]:
    """The versions that the numbers of a run depend on, besides its config.

    >>> sorted(versions())
    ['anyorder', 'equinox', 'jax', 'jaxlib', 'machine', 'numpy', 'optax', 'python']
    """
    packages = ("anyorder", "equinox", "jax", "jaxlib", "numpy", "optax")
    return {
        **{package: metadata.version(package) for package in packages},
        "python": platform.python_version(),
        "machine": f"{platform.system()} {platform.machine()}",
    }


def versions_difference(stored: Mapping[str, object]) -> str:
    """A description of how these versions differ from the installed ones; empty if they do not."""
    here = versions()
    words = [f"{name} {stored.get(name)}, not {here.get(name)}" for name in here if stored.get(name) != here[name]]
    return "; ".join(words)
