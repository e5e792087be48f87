"""Names of a package that are loaded when they are first used, so that importing the package is light.

The stub of such a package, `__init__.pyi`, imports every public name, a line each. It is the only list of them: type
checkers read it, and so does the package itself.
"""

from __future__ import annotations

import importlib
import re
import sys
from collections.abc import Callable, Collection
from pathlib import Path


def when_named(
    package: str, extras: Collection[str] = ()
) -> tuple[Callable[[str], object], Callable[[], list[str]], list[str]]:
    """The `__getattr__`, the `__dir__` and the `__all__` of a package.

    Modules in `extras` need the extra of that name and are not in `__all__`, so that all of it can be imported.

    >>> load, _, names = when_named("anyorder")
    >>> load("InputError"), "kgram" in names
    (<class 'anyorder.errors.InputError'>, True)
    """
    stub = Path(str(sys.modules[package].__file__)).with_suffix(".pyi").read_text(encoding="utf-8")
    homes = {name: home for home, name in re.findall(r"^from (\S+) import (\w+) as \2$", stub, re.MULTILINE)}

    def load(name: str) -> object:
        if name not in homes:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        try:
            if homes[name] == package:
                return importlib.import_module(f"{package}.{name}")
            return getattr(importlib.import_module(homes[name]), name)
        except ModuleNotFoundError as error:
            if name not in extras:
                raise
            # an AttributeError, so that `hasattr` is False
            needed = f"{package}.{name} needs {error.name}; pip install '{package}[{name}]'"
            raise AttributeError(needed) from None

    return load, lambda: sorted(homes), [name for name in homes if name not in extras]
