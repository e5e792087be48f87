"""A laboratory for in-context learning of Markov chains of any order.

Importing the package is light: sub-packages are loaded when they are first named.

>>> import anyorder
>>> anyorder.estimators.kgram([0, 1, 0, 1, 0], order=1, alphabet_size=2).probabilities[-1].tolist()
[0.0, 1.0]
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from anyorder import chains as chains
    from anyorder import estimators as estimators

__version__ = "0.1.0"

_SUBPACKAGES = ("chains", "estimators")

__all__ = ["__version__", *_SUBPACKAGES]


def __getattr__(name: str) -> Any:
    if name in _SUBPACKAGES:
        return importlib.import_module(f"anyorder.{name}")
    raise AttributeError(f"module 'anyorder' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted(__all__)
