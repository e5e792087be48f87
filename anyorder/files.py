"""Reading sequences and writing results: the only place that opens files.

Sequences come as whitespace-separated integers, as text with an alphabet, or as `.npy`.
Output appears whole or not at all: it is written under a temporary name and then renamed.
"""

from __future__ import annotations

import contextlib
import io
import json
import os
import sys
import tempfile
import warnings
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
from jaxtyping import Int

from anyorder.errors import InputError, check_alphabet, require

STANDARD_STREAM = "-"
_COUNT_OF_SYMBOLS = 1 << 16


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


def read_tokens(
    source: str | Path,
    *,
    alphabet: str | None = None,
    alphabet_size: int | None = None,
    row: int | None = None,
) -> tuple[Int[np.ndarray, "length"], int, str | None]:
    """Read one sequence; give its tokens, the alphabet size, and the characters if it was text.

    `source` is a path, or `-` for standard input. With `alphabet` the input is text whose characters
    are numbered in the order given (`"auto"`: in order of first appearance; line ends are then dropped).
    Without an alphabet size, the largest token decides it. `row` chooses one row of a `.npy` with several
    sequences, or one line of a text; without it, all lines together are one sequence.
    """
    data = _read_bytes(source)
    is_array = data[:6] == b"\x93NUMPY" or str(source).endswith(".npy")
    if row is not None and not is_array:
        lines = data.splitlines()
        data = lines[_checked_row(row, len(lines), source)]
    if is_array:
        require(alphabet is None, f"{source} is a .npy file of integers; drop --alphabet")
        tokens = _tokens_from_npy(data, source, row)
    elif alphabet is not None:
        require(
            alphabet_size is None,
            f"--alphabet-size {alphabet_size} and --alphabet together; the alphabet has its own size, drop one",
        )
        return _tokens_from_text(data, source, alphabet)
    else:
        tokens = _tokens_from_integers(data, source)
    require(tokens.size > 0, f"{source} is empty; it needs at least two tokens")
    size = alphabet_size if alphabet_size is not None else max(2, int(tokens.max()) + 1)
    check_alphabet(size)
    check_tokens(tokens, size, str(source))
    require(
        size <= _COUNT_OF_SYMBOLS,
        f"alphabet size is {size}, at most {_COUNT_OF_SYMBOLS} symbols are supported; renumber the tokens",
    )
    return tokens.astype(np.int64), size, None


def check_tokens(tokens: np.ndarray, alphabet_size: int, source: str = "the sequence") -> None:
    """Refuse tokens outside 0 … alphabet_size - 1, naming the first and where it is.

    >>> check_tokens(np.array([0, 1, 5]), 2)
    Traceback (most recent call last):
    anyorder.errors.InputError: the sequence has token 5 at position 2, must be 0 to 1; raise the alphabet size to 6
    """
    outside = np.flatnonzero((tokens < 0) | (tokens >= alphabet_size))
    if outside.size:
        position, token = int(outside[0]), int(tokens[outside[0]])
        way_out = f"raise the alphabet size to {int(tokens.max()) + 1}"
        raise InputError(
            f"{source} has token {token} at position {position}, must be 0 to {alphabet_size - 1}; "
            + (way_out if tokens.min() >= 0 else "mend the input")
        )


def _read_bytes(source: str | Path) -> bytes:
    try:
        data = sys.stdin.buffer.read() if str(source) == STANDARD_STREAM else Path(source).read_bytes()
    except OSError as error:
        raise InputError(f"cannot read {source}: {error.strerror}; give a file, or - for standard input") from None
    require(len(data) > 0, f"{source} is empty; it needs at least two tokens")
    return data


def read_array(source: str | Path) -> np.ndarray:
    """The array in a `.npy` file."""
    return _load_npy(_read_bytes(source), source)


def _load_npy(data: bytes, source: str | Path) -> np.ndarray:
    try:
        return np.load(io.BytesIO(data), allow_pickle=False)
    except (ValueError, EOFError, OSError) as error:
        reason = str(error).splitlines()[0].rstrip(".")
        raise InputError(f"{source} is not a whole .npy file ({reason}); write it again with numpy.save") from None


def _tokens_from_npy(data: bytes, source: str | Path, row: int | None) -> Int[np.ndarray, "length"]:
    array = _load_npy(data, source)
    if array.ndim == 2 and (row is not None or len(array) == 1):
        array = array[_checked_row(row or 0, len(array), source)]
    require(
        array.ndim == 1,
        f"{source} holds an array of shape {array.shape}, must be one sequence (length,); choose one with --row",
    )
    require(
        array.dtype.kind in "iubf",
        f"{source} holds {array.dtype} values, tokens are integers; convert it first",
    )
    wrong = array != np.floor(array) if array.dtype.kind == "f" else np.zeros(len(array), bool)
    if wrong.any() or not np.isfinite(array).all():
        position = _first(wrong | ~np.isfinite(array))
        raise InputError(f"{source} has {array[position]} at position {position}, tokens are integers; mend the input")
    return array.astype(np.int64)


def _checked_row(row: int, count: int, source: str | Path) -> int:
    require(0 <= row < count, f"--row is {row}, {source} has rows 0 to {count - 1}")
    return row


def _first(mask: np.ndarray) -> int:
    return int(np.argmax(mask))


def _tokens_from_integers(data: bytes, source: str | Path) -> Int[np.ndarray, "length"]:
    require(not data.isspace(), f"{source} is empty; it needs at least two tokens")
    with warnings.catch_warnings():
        warnings.simplefilter("error")  # NumPy stops at what it cannot read, and only warns
        with contextlib.suppress(DeprecationWarning, ValueError):
            tokens = np.fromstring(data, dtype=np.int64, sep=" ")
            if tokens.max() < np.iinfo(np.int64).max:  # where it saturates
                return tokens
    for position, word in enumerate(data.split()):
        try:
            np.int64(word)
        except (ValueError, OverflowError):
            shown = word[:20].decode("utf-8", "replace")
            raise InputError(
                f"{source} has {shown!r} at position {position}, must be an integer; "
                "for text pass --alphabet auto or --alphabet CHARS"
            ) from None
    raise InputError(f"{source} cannot be read as integers; write them separated by white space")


def _tokens_from_text(data: bytes, source: str | Path, alphabet: str) -> tuple[np.ndarray, int, str]:
    try:
        text = data.decode("utf-8")
    except UnicodeDecodeError as error:
        raise InputError(f"{source} is not UTF-8 text (byte {error.start}); convert it first") from None
    if alphabet == "auto":
        text = text.replace("\r", "").replace("\n", "")
        alphabet = "".join(dict.fromkeys(text))
        require(len(text) > 0, f"{source} is empty; it needs at least two tokens")
        if len(alphabet) == 1:
            raise InputError(
                f"{source} holds only the character {alphabet!r}, an alphabet needs at least two; "
                f"pass --alphabet with every character that could occur"
            )
    else:
        repeated = [character for character in dict.fromkeys(alphabet) if alphabet.count(character) > 1]
        require(
            not repeated,
            f"--alphabet {alphabet!r} repeats {(repeated or [''])[0]!r}; give each character once",
        )
        require(len(alphabet) >= 2, f"--alphabet {alphabet!r} has {len(alphabet)} characters, must be at least 2")
        for line_end in "\r\n":
            if line_end not in alphabet:
                text = text.replace(line_end, "")
        require(len(text) > 0, f"{source} is empty; it needs at least two tokens")
    codes = np.frombuffer(text.encode("utf-32-le"), dtype=np.uint32)
    known = np.frombuffer(alphabet.encode("utf-32-le"), dtype=np.uint32)
    order = np.argsort(known)
    places = np.minimum(np.searchsorted(known[order], codes), known.size - 1)
    tokens = order[places]
    unknown = known[tokens] != codes
    if unknown.any():
        position = _first(unknown)
        raise InputError(
            f"{source} has character {text[position]!r} at position {position}, not in --alphabet {alphabet!r}; "
            "add it, or pass --alphabet auto"
        )
    return tokens.astype(np.int64), len(alphabet), alphabet
