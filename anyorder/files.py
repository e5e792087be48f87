"""Writing results: output appears whole or not at all, written under a temporary name and then renamed."""

from __future__ import annotations

import contextlib
import json
import os
import tempfile
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import numpy as np

from anyorder.errors import InputError, require


@contextlib.contextmanager
def whole_file(path: str | Path) -> Iterator[Path]:
    """Give a temporary path in the same folder that is renamed to `path` when the block succeeds.

    >>> import pathlib, tempfile
    >>> folder = pathlib.Path(tempfile.mkdtemp())
    >>> with whole_file(folder / "a.txt") as temporary:
    ...     _ = temporary.write_text("whole")
    >>> [entry.name for entry in folder.iterdir()]
    ['a.txt']
    """
    target = Path(path)
    require(not target.is_dir(), f"{target} is a folder; name a file to write to")
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        handle, name = tempfile.mkstemp(dir=target.parent, prefix=f".{target.name}.", suffix=target.suffix)
    except OSError as error:
        raise InputError(f"cannot write {target}: {error.strerror}; choose a folder that you can write to") from None
    os.close(handle)
    temporary = Path(name)
    try:
        yield temporary
        with temporary.open("rb") as written:
            os.fsync(written.fileno())
        os.chmod(temporary, 0o666 & ~_umask())
        os.replace(temporary, target)
    except OSError as error:
        raise InputError(f"cannot write {target}: {error.strerror}; nothing was written") from None
    finally:
        temporary.unlink(missing_ok=True)


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask


def write_json(path: str | Path, value: Any) -> None:
    """Write one JSON value, indented, with a newline at the end."""
    with whole_file(path) as temporary:
        temporary.write_text(json.dumps(value, indent=2, allow_nan=False) + "\n", encoding="utf-8")


def append_lines(path: str | Path, values: Iterable[Any]) -> None:
    """Add JSON values to a file, a line each, in one write that is on the disk when this returns.

    A process that is killed in the middle leaves at most one line cut short, at the end: `read_lines` drops it.
    """
    text = "".join(json.dumps(value, allow_nan=False) + "\n" for value in values)
    try:
        with Path(path).open("ab") as stream:
            stream.write(text.encode("utf-8"))
            stream.flush()
            os.fsync(stream.fileno())
    except OSError as error:
        raise InputError(f"cannot write {path}: {error.strerror}; make room, and give the command again") from None


def read_lines(path: str | Path) -> list[Any]:
    """Every whole line of a file of JSON lines; none where there is no file."""
    values: list[Any] = []
    file = Path(path)
    for text in file.read_text(encoding="utf-8").splitlines() if file.exists() else ():
        try:
            values.append(json.loads(text))
        except ValueError:
            break
    return values


def write_array(path: str | Path, array: np.ndarray) -> None:
    """Write an array: `.npy`, or for any other ending text with one row a line.

    Integers become whitespace-separated numbers and floating-point rows become JSON lines,
    with `null` where a row is undefined.
    """
    with whole_file(path) as temporary:
        if Path(path).suffix == ".npy":
            with temporary.open("wb") as stream:
                np.save(stream, array, allow_pickle=False)
            return
        with temporary.open("w", encoding="utf-8") as stream:
            for row in np.atleast_2d(array) if array.dtype.kind in "iu" else array:
                stream.write(format_row(row) + "\n")


def format_row(row: np.ndarray) -> str:
    """One row as a line of text.

    >>> format_row(np.array([1, 0, 2])), format_row(np.array([0.5, 0.5])), format_row(np.array([np.nan, np.nan]))
    ('1 0 2', '[0.5, 0.5]', 'null')
    """
    if row.dtype.kind in "iu":
        return " ".join(map(str, row.tolist()))
    return "null" if np.isnan(row).any() else json.dumps(row.tolist())
