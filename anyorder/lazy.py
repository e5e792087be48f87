"""Names of a package that are loaded when they are first used, so that importing the package is light.

The `__init__` of such a package says where its names live and imports them `if TYPE_CHECKING`; it takes the two
functions only if not, so that a type checker sees a misspelt name.
"""

from __future__ import annotations

import importlib
import sys
from collections.abc import Callable, Collection, Mapping


def when_named(
    package: str, homes: Mapping[str, str], modules: Collection[str] = (), extras: Collection[str] = ()
) -> tuple[Callable[[str], object], Callable[[], list[str]]]:
    """The `__getattr__` and the `__dir__` of a package: name → the module of the package that it lives in.

    `modules` are names of modules of the package; those in `extras` need the extra of that name.

    >>> load, _ = when_named("anyorder", {"InputError": "errors"})
    >>> load("InputError")
    <class 'anyorder.errors.InputError'>
    """

    def load(name: str) -> object:
        if name in homes:
            return getattr(importlib.import_module(f"{package}.{homes[name]}"), name)
        if name not in modules:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        try:
            return importlib.import_module(f"{package}.{name}")
        except ModuleNotFoundError as error:
            if name not in extras:
                raise
            # an AttributeError, so that `hasattr` is False
            needed = f"{package}.{name} needs {error.name}; pip install '{package}[{name}]'"
            raise AttributeError(needed) from None

    def public() -> list[str]:
        return sorted(vars(sys.modules[package])["__all__"])

    return load, public
