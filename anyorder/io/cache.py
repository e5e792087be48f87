"""The user's cache folder, for results that can be computed again: compiled programs, and values of the package."""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

from platformdirs import user_cache_dir

from anyorder import __version__
from anyorder.errors import InputError

PACKAGE = Path(__file__).parents[1]


def folder(name: str) -> Path:
    """A folder of $ANYORDER_CACHE, or of anyorder under the user's cache folder."""
    own = os.environ.get("ANYORDER_CACHE")
    return (Path(own) if own else Path(user_cache_dir("anyorder", False)).expanduser()) / name  # raises without a home


def kept(name: str, make: Callable[[], Any]) -> Any:
    """A JSON value that follows from the package alone: made once, and again when a file of the package has changed.

    What is damaged is made again, and a folder that cannot be written keeps nothing: neither is an error.
    """
    stamp = _stamp()
    with contextlib.suppress(OSError, ValueError, RuntimeError):  # not there, damaged, or no home folder
        found = json.loads(_file(name).read_text(encoding="utf-8"))
        if isinstance(found, dict) and found.get("stamp") == stamp and "value" in found:
            return found["value"]
    value = make()
    from anyorder.io.atomic import write_json  # NumPy: not where the value was kept

    with contextlib.suppress(OSError, RuntimeError, InputError):
        write_json(_file(name), {"stamp": stamp, "value": value})
    return value


def _file(name: str) -> Path:
    """One for each place where the package is installed, so that they do not take turns."""
    return folder("kept") / f"{name}-{_digest(str(PACKAGE))}.json"


def _stamp() -> str:
    """A digest that changes with every file of the package from which a value may follow."""
    parts = [__version__]
    for place, _, names in os.walk(PACKAGE):
        for path in (os.path.join(place, name) for name in names if name.endswith((".py", ".json"))):
            found = os.stat(path)
            parts.append(f"{path} {found.st_size} {found.st_mtime_ns}")
    return _digest("\n".join(sorted(parts)))


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode("utf-8", "surrogateescape")).hexdigest()[:16]
