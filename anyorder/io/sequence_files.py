"""Reading sequences: whitespace-separated integers, text with an alphabet, FASTA, or `.npy`.

A file is read twice and never held in memory: first to find its length, alphabet and errors, then for its tokens.
"""

from __future__ import annotations

import contextlib
import dataclasses
import shutil
import sys
import tempfile
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import IO

import numpy as np
from jaxtyping import Int

from anyorder.errors import InputError, require
from anyorder.io import sequence_formats
from anyorder.io.gates import check_number, open_regular
from anyorder.io.sequence_formats import LineEnds, Piece
from anyorder.io.tokens import LARGEST_ALPHABET, check_characters, check_tokens

STANDARD_STREAM = "-"
BASES = "ACGT"
_FASTA = (".fa", ".fasta")

Reader = Callable[[Counter[str]], Iterator[Piece]]
"""The tokens of a file from its beginning; skipped parts are counted in the tally."""


@dataclasses.dataclass(frozen=True)
class SequenceFile:
    """The contents of a file."""

    name: str
    alphabet_size: int
    alphabet: str | None
    """The characters, if it is text."""
    count: int
    """Number of sequences with at least one token."""
    length: int
    """Number of tokens in all sequences."""
    notes: tuple[str, ...]
    """Skipped parts, one sentence for each."""
    read: Reader = dataclasses.field(repr=False)

    def chunks(self) -> Iterator[Piece]:
        """The tokens from the beginning, in non-empty chunks, each with whether it begins a sequence."""
        return _with_tokens(self.read(Counter()))

    def check_single(self) -> None:
        """Reject a file of several sequences where one is wanted."""
        require(self.count == 1, f"{self.name} contains {self.count} sequences, must be one; choose one with `row=`")

    def one(self, limit: int | None = None) -> Int[np.ndarray, "length"]:
        """The tokens of the only sequence, or its first `limit` tokens."""
        require(limit is None or limit >= 1, f"limit is {limit}, must be at least 1; pass `limit=1` or more")
        self.check_single()
        kept: list[np.ndarray] = []
        for part in self.chunks():
            kept.append(part.tokens)
            if limit is not None and sum(map(len, kept)) >= limit:
                break
        return np.concatenate(kept)[:limit]


@contextlib.contextmanager
def open_sequences(
    source: str | Path,
    *,
    alphabet: str | None = None,
    alphabet_size: int | None = None,
    row: int | None = None,
    line_ends: LineEnds = "drop",
) -> Iterator[SequenceFile]:
    """Open a file of sequences, or `-` for standard input, and scan its contents.

    With `alphabet` the input is text whose characters are numbered in the order given (`"auto"`: by first appearance).
    All its lines are one sequence, unless `line_ends` is `split`; an alphabet with a line end keeps them. Files that
    end in `.fa` or `.fasta`, or begin with `>`, are FASTA, with the letters ACGT unless an alphabet is given. Other
    input is integers; without an alphabet size the largest decides it. `row` chooses one sequence: a row of a `.npy`,
    a line of a text, a record of FASTA or a piece of one.

    >>> path = Path(tempfile.mkdtemp()) / "reads.fa"
    >>> _ = path.write_text(">one\\nACGTNNAC\\n")
    >>> with open_sequences(path) as sequences:
    ...     sequences.count, sequences.length, sequences.notes
    (2, 6, ("2 letters are not in the alphabet 'ACGT' (2 N): sequences end there",))
    """
    name = str(source)
    with _stream(source) as stream:
        reader, letters = _reader(stream, name, alphabet, line_ends if row is None else "split")
        require(
            letters is None or alphabet_size is None,
            f"`alphabet_size={alphabet_size}` and an alphabet together; the alphabet has its own size, drop one",
        )

        def read(tally: Counter[str]) -> Iterator[Piece]:
            stream.seek(0)
            return reader(tally) if row is None else _only(reader(tally), row, name)

        tally: Counter[str] = Counter()
        fixed = len(letters) if letters is not None else alphabet_size
        if fixed is not None:
            check_number("alphabet_size", fixed)
        count, length, size = 0, 0, 2 if fixed is None else fixed
        for tokens, begins in _with_tokens(read(tally)):
            size = max(size, int(tokens.max()) + 1) if fixed is None else size
            check_tokens(tokens, size, name, length)
            count, length = count + begins, length + tokens.size
        what = f"letter of the alphabet {letters!r}" if tally.total() and letters else "token"
        require(
            length > 0,
            f"{name} is empty; it needs at least two tokens" if not tally.total() else f"{name} has no {what}",
        )
        require(
            size <= LARGEST_ALPHABET,
            f"alphabet size is {size}, at most {LARGEST_ALPHABET} symbols are supported; renumber the tokens",
        )
        yield SequenceFile(name, size, letters, count, length, tuple(_notes(tally, letters)), read)


def read_array(source: str | Path) -> np.ndarray:
    """The array in a `.npy` file."""
    with _stream(source) as stream:
        return np.array(sequence_formats.open_npy(stream.name, str(source)))


@contextlib.contextmanager
def _stream(source: str | Path) -> Iterator[IO[bytes]]:
    """The file, or a copy of standard input on the disk, which can be read from its beginning again."""
    if str(source) == STANDARD_STREAM:
        with tempfile.NamedTemporaryFile() as copy:
            shutil.copyfileobj(sys.stdin.buffer, copy)
            copy.seek(0)
            yield copy
    else:
        expected = "a file, or - for standard input"
        with open_regular(source, expected) as stream:
            try:
                yield stream
            except OSError as error:
                if error.filename is not None:
                    raise
                raise InputError(f"cannot read {source}: {error.strerror}; give {expected}") from None


def _reader(stream: IO[bytes], name: str, alphabet: str | None, ends: LineEnds) -> tuple[Reader, str | None]:
    """The function that reads this file in parts, and the characters of a text file."""
    start = stream.read(6)
    stream.seek(0)
    require(len(start) > 0, f"{name} is empty; it needs at least two tokens")
    if start == b"\x93NUMPY" or name.endswith(".npy"):
        require(alphabet is None, f"{name} is a .npy file of integers; drop `alphabet=`")
        array = sequence_formats.open_npy(stream.name, name)
        return lambda tally: sequence_formats.npy(array, name), None
    if name.endswith(_FASTA) or (start.startswith(b">") and alphabet is None):
        letters = BASES if alphabet is None else alphabet
        way_out = f"drop `alphabet={letters}` for {BASES}, or give the letters"
        require(letters != "auto" and letters.isascii(), f"{name} is FASTA, whose letters are not guessed; {way_out}")
        check_characters(letters)
        return lambda tally: sequence_formats.fasta(stream, name, letters, tally), letters
    if alphabet is None:
        return lambda tally: sequence_formats.integers(stream, name, by_line=ends == "split"), None
    if "\n" in alphabet:
        ends = "keep"
    if alphabet == "auto":
        alphabet = sequence_formats.characters(stream, name, ends)
        require(len(alphabet) > 0, f"{name} is empty; it needs at least two tokens")
        require(
            len(alphabet) > 1,
            f"{name} contains only the character {alphabet!r}, an alphabet needs at least two; give all that "
            "could occur with `alphabet=`",
        )
    check_characters(alphabet)
    return lambda tally: sequence_formats.text(stream, name, alphabet, ends, tally), alphabet


def _with_tokens(parts: Iterator[Piece]) -> Iterator[Piece]:
    """The parts with at least one token."""
    begun = False
    for tokens, begins in parts:
        begun |= begins
        if tokens.size:
            yield Piece(tokens, begun)
            begun = False


def _only(parts: Iterator[Piece], row: int, name: str) -> Iterator[Piece]:
    """The parts of one sequence."""
    number = -1
    for part in parts:
        number += part.begins
        if number == row:
            yield part
    require(0 <= row <= number, f"row is {row}, {name} has rows 0 to {number}; choose one with `row=`")


def _notes(tally: Counter[str], letters: str | None) -> Iterator[str]:
    unknown = {name: times for name, times in tally.items() if len(name) == 1}
    if unknown:
        each = ", ".join(f"{times} {letter}" for letter, times in sorted(unknown.items()))
        yield f"{sum(unknown.values())} letters are not in the alphabet {letters!r} ({each}): sequences end there"
    if tally["small letters"]:
        yield f"{tally['small letters']} small letters (soft-masked) count as capitals"
    if tally["empty records"]:
        yield f"{tally['empty records']} FASTA records are empty: left out"
    if tally["line ends"]:
        yield f"{tally['line ends']} line ends were dropped; `line_ends=keep` or `line_ends=space` makes them symbols"
