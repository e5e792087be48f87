"""Reading sequences: whitespace-separated integers, text with an alphabet, or `.npy`."""

from __future__ import annotations

import contextlib
import io
import sys
import warnings
from pathlib import Path

import numpy as np
from jaxtyping import Int

from anyorder.errors import InputError, check_alphabet, require
from anyorder.tokens import check_tokens, spelled

STANDARD_STREAM = "-"
_COUNT_OF_SYMBOLS = 1 << 16


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
        raise InputError(
            f"{source} has {array[position]} at position {position}, tokens are integers; correct the input"
        )
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
    chosen = "" if alphabet == "auto" else alphabet
    for line_end in "\r\n":
        if line_end not in chosen:
            text = text.replace(line_end, "")
    require(len(text) > 0, f"{source} is empty; it needs at least two tokens")
    chosen = chosen or "".join(dict.fromkeys(text))
    require(
        alphabet != "auto" or len(chosen) > 1,
        f"{source} holds only the character {chosen!r}, an alphabet needs at least two; "
        "give an alphabet with every character that could occur",
    )
    return spelled(text, chosen, str(source)), len(chosen), chosen
