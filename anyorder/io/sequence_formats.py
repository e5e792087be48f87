"""The formats of sequences, each read in parts: integers, text, FASTA and `.npy`.

A part is a piece of one sequence. `tally` counts skipped parts, which are reported to the user; the key of an unknown
letter is the letter.
"""

from __future__ import annotations

import codecs
import contextlib
import io
import warnings
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import IO, Literal, NamedTuple

import numpy as np
from jaxtyping import Int

from anyorder.errors import InputError, require
from anyorder.io.tokens import numbered

BLOCK = 1 << 20  # bytes or tokens at a time
_LONGEST_WORD = 64  # longer numbers are not tokens
_WHITE_SPACE = b" \t\n\r\v\f"

#: Treatment of line ends in text: a symbol, a space, nothing, or the end of a sequence.
LineEnds = Literal["keep", "space", "drop", "split"]


class Piece(NamedTuple):
    """Consecutive tokens, and whether they begin a sequence."""

    tokens: Int[np.ndarray, "part"]
    begins: bool


def integers(stream: IO[bytes], source: str, *, by_line: bool) -> Iterator[Piece]:
    """Whitespace-separated integers: one sequence, or one in each line."""
    position, rest, begins, more = 0, b"", True, True
    while more:
        more = bool(block := stream.read(BLOCK))
        data = rest + block
        cut = 1 + max(data.rfind(space) for space in _WHITE_SPACE) if more else len(data)
        data, rest = data[:cut], data[cut:]
        for number, line in enumerate(data.split(b"\n") if by_line else [data]):
            tokens = _parsed(line, source, position)
            if tokens.size or begins or number:
                yield Piece(tokens, begins or number > 0)
            position += tokens.size
            begins = False
        if len(rest) > _LONGEST_WORD:
            raise _not_an_integer(rest, source, position)


def _parsed(data: bytes, source: str, position: int) -> Int[np.ndarray, "part"]:
    if not data.strip():
        return np.empty(0, np.int64)
    with warnings.catch_warnings():
        warnings.simplefilter("error")  # NumPy stops at unreadable input with only a warning
        with contextlib.suppress(DeprecationWarning, ValueError):
            tokens = np.fromstring(data, dtype=np.int64, sep=" ")
            if abs(tokens).max() < np.iinfo(np.int64).max:  # where it saturates
                return tokens
    for place, word in enumerate(data.split(), position):
        try:
            np.int64(word)
        except (ValueError, OverflowError):
            raise _not_an_integer(word, source, place) from None
    raise InputError(f"{source} cannot be read as integers; write them separated by white space")


def _not_an_integer(word: bytes, source: str, position: int) -> InputError:
    shown = word[:20].decode("utf-8", "replace") + "…" * (len(word) > 20)
    with contextlib.suppress(ValueError):
        if len(word) <= _LONGEST_WORD:
            return InputError(f"{source} has token {int(word)} at position {position}, too large; renumber the tokens")
    return InputError(
        f"{source} has {shown!r} at position {position}, must be an integer; for text pass `alphabet=auto` or its "
        "characters with `alphabet=`"
    )


def text(stream: IO[bytes], source: str, alphabet: str, line_ends: LineEnds, tally: Counter[str]) -> Iterator[Piece]:
    """The characters of UTF-8 text as their places in the alphabet."""
    position = 0
    for piece, begins in _decoded(stream, source, line_ends, tally):
        tokens = numbered(piece, alphabet, source, position)
        position += tokens.size
        yield Piece(tokens, begins)


def characters(stream: IO[bytes], source: str, line_ends: LineEnds) -> str:
    """The distinct characters of UTF-8 text, in the order of their first appearance."""
    found: dict[str, None] = {}
    for piece, _ in _decoded(stream, source, line_ends, Counter()):
        found |= dict.fromkeys(piece)
    return "".join(found)


def _decoded(stream: IO[bytes], source: str, line_ends: LineEnds, tally: Counter[str]) -> Iterator[tuple[str, bool]]:
    """Pieces of the text, with whether they begin a sequence; the line ends of all systems are one character."""
    decoder = io.IncrementalNewlineDecoder(codecs.getincrementaldecoder("utf-8")(), translate=True)
    replacement = {"keep": "\n", "split": "\n", "space": " ", "drop": ""}[line_ends]
    offset, begins, more = 0, True, True
    while more:
        more = bool(block := stream.read(BLOCK))
        kept = len(decoder.getstate()[0])
        try:
            data = decoder.decode(block, final=not more)
        except UnicodeDecodeError as error:
            raise InputError(f"{source} is not UTF-8 text (byte {offset - kept + error.start}); convert it") from None
        offset += len(block)
        tally["line ends"] += data.count("\n") if line_ends == "drop" else 0
        pieces = data.split("\n") if line_ends == "split" else [data.replace("\n", replacement)]
        for number, piece in enumerate(pieces):
            if piece or begins or number:
                yield piece, begins or number > 0
            begins = False


def fasta(stream: IO[bytes], source: str, letters: str, tally: Counter[str]) -> Iterator[Piece]:
    """FASTA as places in `letters`: every record is a sequence; an unknown letter ends it, and another begins.

    Where the letters are capitals, small ones (soft-masked bases) count as theirs.
    """
    known, small = np.full(256, -1), np.zeros(256, bool)
    if letters.isupper():
        lower = list(letters.lower().encode("ascii"))
        known[lower], small[lower] = range(len(letters)), True
    known[list(letters.encode("ascii"))] = range(len(letters))
    begins, size = True, -1  # letters of the record so far; -1 before the first record
    for block in _records(stream):
        if block is None:
            tally["empty records"] += size == 0
            begins, size = True, 0
            continue
        data = np.frombuffer(block.translate(None, _WHITE_SPACE), np.uint8)
        size = max(size, 0) + data.size
        numbers = known[data]
        tally["small letters"] += int(small[data].sum())
        for letter, times in zip(*np.unique(data[numbers < 0], return_counts=True), strict=True):
            tally[chr(letter)] += int(times)
        edges = np.flatnonzero(np.diff(numbers >= 0, prepend=False, append=False))
        for start, stop in edges.reshape(-1, 2):
            yield Piece(numbers[start:stop], bool(begins or start > 0))
            begins = stop < numbers.size
        begins |= edges.size == 0 < data.size
    tally["empty records"] += size == 0


def _records(stream: IO[bytes]) -> Iterator[bytes | None]:
    """The letters of FASTA in blocks, and None where a record begins."""
    letters, is_header, at_start = bytearray(), False, True
    while line := stream.readline(BLOCK):
        is_header = line.startswith(b">") if at_start else is_header
        if not is_header:
            letters += line
        if letters and (is_header or len(letters) > BLOCK):
            yield bytes(letters)
            letters.clear()
        if is_header and at_start:
            yield None
        at_start = line.endswith(b"\n")
    if letters:
        yield bytes(letters)


def npy(array: np.ndarray, source: str) -> Iterator[Piece]:
    """An array of tokens: one sequence, or one in each row."""
    require(
        array.ndim in (1, 2),
        f"{source} contains an array of shape {array.shape}, must be one sequence (length,) or a row for each",
    )
    require(
        array.dtype.kind in "iubf", f"{source} contains {array.dtype} values, tokens are integers; convert it first"
    )
    for row in np.atleast_2d(array):
        for begin in range(0, row.size, BLOCK):
            part = np.asarray(row[begin : begin + BLOCK])
            if part.dtype.kind == "f":
                wrong = np.flatnonzero(~np.isfinite(part) | (part != np.floor(part)))
                if wrong.size:
                    raise InputError(
                        f"{source} has {part[wrong[0]]} at position {begin + wrong[0]}, tokens are integers; correct it"
                    )
            large = np.flatnonzero(part > np.iinfo(np.int32).max)
            if large.size:  # as it is written: another type may not hold it
                raise InputError(
                    f"{source} has token {part[large[0]]} at position {begin + large[0]}, too large; "
                    "renumber the tokens"
                )
            yield Piece(part.astype(np.int64), begin == 0)


def open_npy(path: str | Path, source: str) -> np.ndarray:
    """The array in a `.npy` file, read from the disk where it is used; objects and compressed archives are rejected."""
    try:
        with warnings.catch_warnings(action="ignore"):  # Python's of odd literals, NumPy's of sizes that overflow
            array = np.load(path, mmap_mode="r", allow_pickle=False)
        require(isinstance(array, np.ndarray), "it is a .npz archive")
    except Exception as error:  # a header is a Python literal, and can be wrong in as many ways
        reason = str(error).splitlines()[0].rstrip(".") if str(error) else type(error).__name__
        raise InputError(f"{source} is not a complete .npy file ({reason}); write it again with numpy.save") from None
    return array
