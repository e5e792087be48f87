"""Writing results and reading them back: whole files, JSON, lines, and the folders that commands write to.

Writes are atomic: output is written under a temporary name and then renamed. Reading returns a value of the expected
shape, or raises a one-line error that names the file, the line and the expected content.
"""

from __future__ import annotations

import contextlib
import errno
import hashlib
import itertools
import json
import os
import secrets
import socket
import warnings
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NoReturn

import filelock
import numpy as np

from anyorder.errors import InputError, require
from anyorder.io.gates import UNFINISHED, no_folder, read_bytes, target

_LOCK, _HOLDER = ".anyorder-lock", ".anyorder-lock-holder"
_HOST = hashlib.sha256(socket.gethostname().encode()).hexdigest()[:8]
#: Errors of a write that do not name the file.
_NO_ROOM = (errno.ENOSPC, errno.EFBIG, errno.EIO, getattr(errno, "EDQUOT", errno.ENOSPC))
#: Largest size of a JSON file in bytes; in memory its object may take 20 times as many.
MOST_JSON = 1 << 25
#: Largest size of a JSON Lines file in bytes.
MOST_LINES = 1 << 28
_WORDS = {int: "a whole number", float: "a number", str: "a text", dict: "an object", list: "a list"}

Row = dict[str, Any]
"""A JSON object."""
Tables = Mapping[str, list[Row]]
"""Tables of an experiment: rows by the name of their table."""


@contextlib.contextmanager
def whole_file(path: str | Path) -> Iterator[Path]:
    """Yield a temporary path in the same folder, which is renamed to `path` when the block succeeds."""
    final = target(path)
    temporary = final.with_name(f"{UNFINISHED}{_HOST}-{os.getpid()}-{secrets.token_hex(8)}{final.suffix}")
    try:
        final.parent.mkdir(parents=True, exist_ok=True)
        temporary.touch(exist_ok=False)
    except OSError as error:
        raise no_folder(final.parent, error) from None
    try:
        yield temporary
        with temporary.open("rb+") as written:
            os.fsync(written.fileno())
        os.replace(temporary, final)
    except OSError as error:  # of this file, or of a full disk; other errors of the block are raised unchanged
        short = "requested and" in str(error)  # NumPy's error has no file name and no errno
        if error.filename != str(temporary) and (error.filename or error.errno not in _NO_ROOM) and not short:
            raise
        reason = os.strerror(errno.ENOSPC) if short else error.strerror
        raise InputError(f"cannot write {path}: {reason}; nothing was written") from None
    finally:
        with contextlib.suppress(OSError):  # the folder is gone
            temporary.unlink(missing_ok=True)


def _is_left_over(path: Path) -> bool:
    """Whether the writer of an unfinished file has ended; true if the name contains no process number, as in 0.2."""
    match path.name.removeprefix(UNFINISHED).split("-"):
        case [host, number, _] if number.isdecimal():
            if host != _HOST or os.name == "nt":  # where signal 0 is Ctrl-C
                return False
            try:
                os.kill(int(number), 0)
            except (ProcessLookupError, OverflowError):
                return True
            except OSError:  # of another user
                return False
            return False
    return True


def write_text(path: str | Path, text: str) -> None:
    """Write a text, replacing the file's content."""
    with whole_file(path) as temporary:
        temporary.write_text(text, encoding="utf-8", errors="backslashreplace")  # names may not be UTF-8


def write_json(path: str | Path, value: object) -> None:
    """Write one JSON value, indented, with a newline at the end."""
    write_text(path, json.dumps(value, indent=2, allow_nan=False) + "\n")


def write_lines(path: str | Path, rows: Iterable[Row]) -> None:
    """Write JSON objects as lines, replacing the file's content."""
    with whole_file(path) as temporary:
        temporary.write_bytes(_lines(rows))


def append_lines(path: str | Path, rows: Iterable[Row]) -> bytes:
    """Append JSON objects to a file as lines, in one write that is synced to the disk; returns its bytes.

    A process killed during the write leaves at most a truncated last line, which `read_lines` drops. On a full disk
    the file is unchanged.
    """
    file, data = Path(path), _lines(rows)
    try:
        before = file.stat().st_size if file.exists() else 0
        try:
            with file.open("ab") as stream:
                stream.write(data)
                stream.flush()
                os.fsync(stream.fileno())
        except OSError:
            os.truncate(file, before)
            raise
    except OSError as error:
        raise InputError(f"cannot write {path}: {error.strerror}; make room, then resume") from None
    return data


def _lines(rows: Iterable[Row]) -> bytes:
    return "".join(json.dumps(row, allow_nan=False) + "\n" for row in rows).encode("utf-8")


def read_json(path: str | Path, expected: str, keys: Mapping[str, type] | None = None, *, most: int = MOST_JSON) -> Row:
    """The JSON object in a file, its keys and their types checked; `expected` and `most` as in `open_regular`."""
    return _object(read_bytes(path, expected, most=most), str(path), f"give {expected}", keys or {})


def read_lines(path: str | Path, keys: Mapping[str, type] | None = None) -> list[Row]:
    """The objects of a JSON Lines file, checked for the keys; none if there is no file.

    An incomplete last line, left by a killed process, is skipped with a warning. Any other invalid line is rejected,
    because it was damaged later.
    """
    if not Path(path).exists():
        return []
    *lines, last = read_bytes(path, "a file of JSON lines", most=MOST_LINES).split(b"\n")
    way_out = "the file was damaged, restore it from a copy or start again elsewhere"
    rows = [_object(line, f"line {place} of {path}", way_out, keys or {}) for place, line in enumerate(lines, 1)]
    if last:
        warnings.warn(f"line {len(lines) + 1} of {path}, the last, was cut short and is left out", stacklevel=2)
    return rows


def _object(data: bytes, source: str, way_out: str, keys: Mapping[str, type]) -> Row:
    try:
        value = json.loads(data.decode("utf-8"), parse_constant=_not_json, object_pairs_hook=_once)
        if b"\\ud" in data.lower():
            json.dumps(value, ensure_ascii=False).encode("utf-8")  # raises for half a surrogate pair
    except RecursionError:
        raise InputError(f"{source} is nested too deeply for a JSON file of anyorder; {way_out}") from None
    except ValueError as error:  # of Unicode too
        raise InputError(f"{source} is not valid JSON ({error}); {way_out}") from None
    require(isinstance(value, dict), f"{source} contains {_shown(value)}, must be an object; {way_out}")
    check_keys(value, source, way_out, keys)
    return value


def check_keys(value: Row, source: str, way_out: str, keys: Mapping[str, type]) -> None:
    """Reject an object that lacks one of the keys or has a value of another type under it."""
    for key, kind in keys.items():
        require(key in value, f"{source} has no {key}; {way_out}")
        fits = type(value[key]) in ((int, float) if kind is float else (kind,))
        require(fits, f"{source} has {key} {_shown(value[key])}, must be {_WORDS[kind]}; {way_out}")


def _once(pairs: list[tuple[str, Any]]) -> Row:
    found: Row = {}
    for key, value in pairs:
        if key in found:
            raise ValueError(f"it has the key {key!r} twice")
        found[key] = value
    return found


def _not_json(constant: str) -> NoReturn:
    raise ValueError(f"{constant} is not a JSON number")


def _shown(value: object) -> str:
    text = json.dumps(value)
    return text if len(text) <= 40 else text[:37] + "..."


def short_digest(value: object) -> str:
    """A short name for a JSON value, the same on every machine.

    >>> short_digest({"a": 1, "b": 2}) == short_digest({"b": 2, "a": 1})
    True
    """
    return hashlib.sha256(json.dumps(value, sort_keys=True).encode()).hexdigest()[:16]


def holds(folder: str | Path, marker: str, own: Sequence[str] = ()) -> bool:
    """Whether a folder has its marker file; without it, other files in the folder are an error.

    own: files that are allowed without the marker. Unfinished files of killed processes are ignored.
    """
    path = Path(folder)
    require(not path.exists() or path.is_dir(), f"{path} is a file where a folder is needed; choose another name")
    if (path / marker).exists():
        return True
    try:
        names = [entry.name for entry in path.iterdir()] if path.exists() else []
    except OSError as error:
        raise InputError(f"cannot read {path}: {error.strerror}; choose another folder") from None
    others = [name for name in names if name not in (*own, _LOCK, _HOLDER) and not name.startswith(UNFINISHED)]
    require(not others, f"{path} already contains other files; choose another folder")
    return False


def interrupted(folder: str | Path) -> bool:
    """Whether a command was killed while it had the folder locked: its lock file remains."""
    return (Path(folder) / _LOCK).exists()


def new_folder(parent: str | Path, name: str) -> Path:
    """Create a new folder, named with the first free number.

    >>> import tempfile
    >>> parent = tempfile.mkdtemp()
    >>> [new_folder(parent, "run").name for _ in range(2)]
    ['run-1', 'run-2']
    """
    for number in itertools.count(1):
        path = Path(parent) / f"{name}-{number}"
        try:
            path.mkdir(parents=True)
            return path
        except OSError as error:
            if not path.exists():
                raise no_folder(path, error) from None
    raise AssertionError


@contextlib.contextmanager
def locked(folder: str | Path) -> Iterator[None]:
    """Lock a folder for this process, and delete unfinished files of processes that have ended.

    The operating system releases the lock when the process ends, however it ends. A file beside it names the holder.
    """
    path = Path(folder)
    holder, new = path / _HOLDER, not path.exists()
    try:
        path.mkdir(parents=True, exist_ok=True)
        lock = filelock.FileLock(path / _LOCK, timeout=0)
        lock.acquire()
    except filelock.Timeout:
        with contextlib.suppress(OSError):
            who = holder.read_text(encoding="utf-8")
            raise InputError(f"{path} is in use by {who}; wait for it, stop it, or choose another folder") from None
        raise InputError(f"{path} is in use by another process; wait for it, or choose another folder") from None
    except OSError as error:
        raise no_folder(path, error) from None
    try:
        for entry in filter(_is_left_over, path.rglob(f"{UNFINISHED}*")):
            entry.unlink(missing_ok=True)
        write_text(holder, f"process {os.getpid()} on {socket.gethostname()}")
        yield
    finally:
        for left in (holder, path / _LOCK):
            with contextlib.suppress(OSError):  # Windows keeps the lock's file until it is released
                left.unlink()
        lock.release()
        with contextlib.suppress(OSError):  # nothing was written
            if new:
                path.rmdir()


def write_array(path: str | Path, array: np.ndarray) -> None:
    """Write an array: `.npy`, or with any other suffix text with one row per line.

    Integers become whitespace-separated numbers and floating-point rows become JSON lines,
    with `null` where a row is undefined.
    """
    with whole_file(path) as temporary:
        if Path(path).suffix == ".npy":
            np.save(temporary, array, allow_pickle=False)
            return
        with temporary.open("w", encoding="utf-8") as stream:
            for row in np.atleast_2d(array) if array.dtype.kind in "iu" else array:
                stream.write(format_row(row) + "\n")


def format_row(row: np.ndarray) -> str:
    """One row as a line of text."""
    if row.dtype.kind in "iu":
        return " ".join(map(str, row.tolist()))
    return "null" if np.isnan(row).any() else json.dumps(row.tolist())
