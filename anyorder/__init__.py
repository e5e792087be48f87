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
    from anyorder import claims as claims
    from anyorder import constructions as constructions
    from anyorder import estimators as estimators
    from anyorder import training as training
    from anyorder import transformer as transformer
    from anyorder.constructions import construct as construct
    from anyorder.transformer import load as load
    from anyorder.transformer import save as save

__version__ = "0.1.0"

_SUBPACKAGES = ("chains", "claims", "constructions", "estimators", "training", "transformer")
_FUNCTIONS = {"construct": "constructions", "load": "transformer", "save": "transformer"}

__all__ = ["__version__", *_SUBPACKAGES, *_FUNCTIONS]


def __getattr__(name: str) -> Any:
    if name in _SUBPACKAGES:
        return importlib.import_module(f"anyorder.{name}")
    if name in _FUNCTIONS:
        return getattr(importlib.import_module(f"anyorder.{_FUNCTIONS[name]}"), name)
    raise AttributeError(f"module 'anyorder' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted(__all__)
