"""What the commands share that read a sequence from a file."""

from __future__ import annotations

import dataclasses
from contextlib import AbstractContextManager
from typing import TYPE_CHECKING, Annotated, Literal

import tyro

from anyorder.cli.command import Command

if TYPE_CHECKING:  # NumPy and JAX take a second to import: not for --help
    from anyorder.reading import SequenceFile


@dataclasses.dataclass(frozen=True, kw_only=True)
class SequenceCommand(Command):
    """Flags that name a file and say how it is read."""

    file: Annotated[str, tyro.conf.Positional, tyro.conf.arg(metavar="FILE")]
    """The sequence: whitespace-separated integers, text (with --alphabet), FASTA (.fa, .fasta) or .npy; - is standard
    input."""
    alphabet_size: int | None = None
    """Number of symbols; by default the largest token plus one."""
    alphabet: str | None = None
    """Characters in the order of their numbers, or auto: distinct characters by first appearance. FASTA has ACGT."""
    line_ends: Literal["keep", "space", "drop", "split"] = "drop"
    """What the end of a line in text is: a symbol, a space, nothing, or the end of a sequence."""
    row: int | None = None
    """Only this sequence of a file that holds several: row of the .npy, line of the text, record of FASTA."""

    def opened(self) -> AbstractContextManager[SequenceFile]:
        """The file, to be read in chunks."""
        from anyorder.reading import open_sequences

        return open_sequences(
            self.file, alphabet=self.alphabet, alphabet_size=self.alphabet_size, row=self.row, line_ends=self.line_ends
        )
