"""Sub-commands: frozen dataclasses whose fields are their flags, with a method `run` that returns an `Outcome`."""

from __future__ import annotations

import abc
import contextlib
import dataclasses
import inspect
import shlex
import textwrap
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Literal, NamedTuple, dataclass_transform

import tyro
from rich.box import SIMPLE_HEAD
from rich.console import Console, RenderableType
from rich.progress import BarColumn, MofNCompleteColumn, Progress, ProgressColumn, TextColumn, TimeRemainingColumn
from rich.status import Status
from rich.table import Table

from anyorder import io
from anyorder.errors import require
from anyorder.io import plugins
from anyorder.io.gates import Gate

if TYPE_CHECKING:
    from anyorder.papers.experiment import Table as ResultTable


class Outcome(NamedTuple):
    """The outcome of a command: a JSON-ready report, the text to print, and whether every check passed.

    `then` is called after printing, for example to run a server.
    """

    report: Mapping[str, object]
    shown: RenderableType | None = None
    passed: bool = True
    then: Callable[[], None] | None = None


@dataclass_transform(frozen_default=True, kw_only_default=True, field_specifiers=(dataclasses.field,))
@dataclasses.dataclass(frozen=True, kw_only=True)
class Command(abc.ABC):
    """Flags that every command has. Every subclass is a frozen dataclass with keywords only."""

    json: bool = False
    """Print one JSON object and nothing else on standard output."""
    plugin: Annotated[tuple[str, ...], tyro.conf.UseAppendAction, tyro.conf.arg(metavar="FILE"), Gate("read")] = ()
    """Load a plug-in: a Python file or folder with priors, constructions, presets, papers and so on; repeatable."""

    #: The usual next command, printed last; {names} are flags of this one and keys of its report.
    next: ClassVar[str] = ""

    def __init_subclass__(cls) -> None:
        dataclasses.dataclass(frozen=True, kw_only=True)(cls)

    @classmethod
    def default(cls, given: Mapping[str, Any]) -> Command | None:
        """Defaults that depend on the given flags; None for the fields' own defaults."""
        return None

    @classmethod
    def check_words(cls, words: Sequence[str]) -> None:
        """Reject command-line words before they are parsed."""
        return None

    @classmethod
    def complete(cls) -> type[Command]:
        """The class that is parsed: this one, or one with flags that a registry adds."""
        return cls

    @classmethod
    def description(cls) -> str:
        """The opening of `--help`: the docstring unchanged, because tyro would drop the examples."""
        return inspect.getdoc(cls) or ""

    def words(self) -> dict[str, str]:
        """Parts of the next command that are already quoted."""
        return {}

    def next_step(self, report: Mapping[str, object]) -> str:
        """The suggested next command, printed after success."""
        known = {**vars(self), **report}
        step = self.next.format_map({name: shlex.quote(str(value)) for name, value in known.items()} | self.words())
        return step if "\n" in step else step + plugins.flags()  # the demo suggests several, which need none

    @abc.abstractmethod
    def run(self) -> Outcome:
        """Do the work; raise `InputError` for errors that the user can correct."""


class SequenceCommand(Command):
    """Flags for the input file and its format."""

    file: Annotated[str, tyro.conf.Positional, tyro.conf.arg(metavar="FILE"), Gate("read", stream=True)]
    """The sequence: whitespace-separated integers, text (with --alphabet), FASTA (.fa, .fasta) or .npy; - is standard
    input."""
    alphabet_size: int | None = None
    """Number of symbols; by default the largest token plus one."""
    alphabet: str | None = None
    """Characters in token order, or auto: distinct characters by first appearance. FASTA uses ACGT by default."""
    line_ends: Literal["keep", "space", "drop", "split"] = "drop"
    """Treat a line end in text as a symbol, as a space, as nothing, or as the end of a sequence."""
    row: int | None = None
    """Read only this sequence of the file: a row of .npy, a line of text, or a record of FASTA."""

    def words(self) -> dict[str, str]:
        """The file and its alphabet, or FILE if standard input was read."""
        alphabet = () if self.alphabet is None else ("--alphabet", self.alphabet)
        return {"input": "FILE" if self.file == "-" else shlex.join((self.file, *alphabet))}

    def opened(self) -> contextlib.AbstractContextManager[io.sequence_files.SequenceFile]:
        """The file, to be read in chunks."""
        return io.sequence_files.open_sequences(
            self.file, alphabet=self.alphabet, alphabet_size=self.alphabet_size, row=self.row, line_ends=self.line_ends
        )


def check_kernel_alone(given: Mapping[str, Any]) -> None:
    """Reject flags that contradict a given kernel."""
    beside = [f"--{name.replace('_', '-')}" for name in ("prior", "order", "alphabet_size") if name in given]
    alone = "kernel" not in given or not beside
    require(alone, f"the kernel has its own order and alphabet; drop {' and '.join(beside)}, or --kernel")


def facts(source: object, *names: str) -> dict[str, object]:
    """Attributes of a command or a result by name, for a report.

    >>> facts(Outcome({}), "report", "passed")
    {'report': {}, 'passed': True}
    """
    return {name: getattr(source, name) for name in names}


def progress(*numbers: ProgressColumn) -> Progress:
    """A progress bar on standard error, removed at the end; silent without a terminal.

    numbers: columns after the bar; by default the count and the remaining time.
    """
    console = Console(stderr=True)
    numbers = numbers or (MofNCompleteColumn(), TimeRemainingColumn())
    columns = (TextColumn("{task.description}"), BarColumn(), *numbers)
    return Progress(*columns, console=console, transient=True, disable=not console.is_terminal)


def working(description: str) -> Status:
    """A spinner on standard error for work of unknown length; silent without a terminal."""
    return Console(stderr=True).status(description)


def table(columns: Mapping[str, str], rows: Iterable[Iterable[object]], title: str | None = None) -> Table:
    """A table with a format for each heading: `<` is left-aligned text. None becomes a dash.

    The first column is never cut.
    """
    made = Table(title=title, title_justify="left", box=SIMPLE_HEAD, pad_edge=False)
    for place, (heading, form) in enumerate(columns.items()):
        made.add_column(heading, justify="left" if form == "<" else "right", no_wrap=place == 0)
    forms = list(columns.values())
    for row in rows:
        made.add_row(*("–" if cell is None else format(cell, form) for cell, form in zip(row, forms, strict=False)))
    return made


def result_table(found: ResultTable) -> Table:
    """A table of results, with the numbers that reports show, and headings no wider than these."""
    from anyorder.report.tables import cells, shown, words

    rows = [cells(row) for row in found.rows]
    texts = [[shown(cell.value) for cell in row.values()] for row in rows]
    columns = {}
    for (name, cell), below in zip(rows[0].items(), zip(*texts, strict=True), strict=True):
        heading = textwrap.fill(words(name), max(map(len, below)), break_long_words=False)
        columns[heading] = "<" if isinstance(cell.value, str) else ">"
    return table(columns, texts, found.caption or None)


def key_value_table(report: Mapping[str, object]) -> Table:
    """A report as a table of two columns, without entries that have no value."""
    made = Table(show_header=False, box=None, pad_edge=False)
    for key, value in report.items():
        if value is not None:
            made.add_row(key.replace("_", " "), _shown(value))
    return made


def _shown(value: object) -> str:
    """A value as text.

    >>> _shown(1 / 3), _shown((1, 2)), _shown(16853), _shown({"equal keys": True}), _shown((None, 1))
    ('0.333', '1, 2', '16,853', 'equal keys: yes', '–, 1')
    """
    match value:
        case None:
            return "–"
        case bool():
            return "yes" if value else "no"
        case int():
            return f"{value:,}"
        case float():
            return f"{value:.3g}" if abs(value) < 1000 else f"{value:,.0f}" if abs(value) < 1e6 else f"{value:.2e}"
        case dict():
            return ", ".join(f"{name}: {_shown(one)}" for name, one in value.items())
        case tuple() | list():
            return ", ".join(map(_shown, value)) or "none"
    return str(value)
