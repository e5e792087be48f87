"""The user's cache folder: compiled programs, and values computed from the package's files."""

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
    """A cached JSON value that depends on the package's files alone; computed again when one of them has changed.

    A damaged cache file is computed again, and a cache folder that cannot be written is ignored.
    """
    stamp = _stamp()
    with contextlib.suppress(OSError, ValueError, RuntimeError):  # not there, damaged, or no home folder
        found = json.loads(_file(name).read_text(encoding="utf-8"))
        if isinstance(found, dict) and found.get("stamp") == stamp and "value" in found:
            return found["value"]
    value = make()
    from anyorder.io.atomic import write_json  # imports NumPy, which cached values do not need

    with contextlib.suppress(OSError, RuntimeError, InputError):
        write_json(_file(name), {"stamp": stamp, "value": value})
    return value


def _file(name: str) -> Path:
    """The cache file of a value; every installation of the package has its own."""
    return folder("kept") / f"{name}-{_digest(str(PACKAGE))}.json"


def _stamp() -> str:
    """A digest of all files of the package that a cached value may depend on."""
    parts = [__version__]
    for place, _, names in os.walk(PACKAGE):
        for path in (os.path.join(place, name) for name in names if name.endswith((".py", ".json"))):
            found = os.stat(path)
            parts.append(f"{path} {found.st_size} {found.st_mtime_ns}")
    return _digest("\n".join(sorted(parts)))


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode("utf-8", "surrogateescape")).hexdigest()[:16]
