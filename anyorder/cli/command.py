"""What a sub-command is: a frozen dataclass whose fields are its flags, with a `run` that gives an `Outcome`."""

from __future__ import annotations

import abc
import contextlib
import dataclasses
import inspect
from collections.abc import Callable, Collection, Mapping, Sequence
from typing import ClassVar, NamedTuple

from rich.box import SIMPLE_HEAD
from rich.console import Console, RenderableType
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn
from rich.table import Table


class Outcome(NamedTuple):
    """What a command found: a JSON-ready report, what a person is shown, and whether every check passed.

    `then` is what goes on after that has been printed, such as a server.
    """

    report: Mapping[str, object]
    shown: RenderableType | None = None
    passed: bool = True
    then: Callable[[], None] | None = None


@dataclasses.dataclass(frozen=True, kw_only=True)
class Command(abc.ABC):
    """Flags that every command has."""

    json: bool = False
    """Print exactly one JSON object on standard output, and nothing else there."""

    #: Flags that name a file to write, and a folder to write to: both are checked before any work is done.
    writes: ClassVar[tuple[str, ...]] = ()
    fills: ClassVar[tuple[str, ...]] = ()

    @classmethod
    def default(cls, words: Sequence[str]) -> Command | None:
        """What flags that are not given are worth, where the others decide that; None: the fields' own defaults."""
        return None

    @classmethod
    def complete(cls) -> type[Command]:
        """The class that is parsed: this one, or one with flags that a registry adds."""
        return cls

    @classmethod
    def description(cls) -> str:
        """What `--help` says first: the docstring as it stands, because tyro's own reading of it drops the examples."""
        return inspect.getdoc(cls) or ""

    @abc.abstractmethod
    def run(self) -> Outcome:
        """Do the work; raise `InputError` for what the user can mend."""


def progress() -> Progress:
    """A progress bar on standard error, gone when the work is done and silent where that is no terminal."""
    console = Console(stderr=True)
    return Progress(
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TimeRemainingColumn(),
        console=console,
        transient=True,
        disable=not console.is_terminal,
    )


def working(description: str) -> contextlib.AbstractContextManager[object]:
    """A sign of life on standard error for work of unknown length; silent where that is no terminal."""
    console = Console(stderr=True)
    return console.status(description) if console.is_terminal else contextlib.nullcontext()


def table(*headings: str, words: Collection[str] = (), title: str | None = None) -> Table:
    """An empty table: columns of `words` on the left, all others, of numbers, on the right; the first is never cut."""
    made = Table(title=title, title_justify="left", box=SIMPLE_HEAD, pad_edge=False)
    for heading in headings:
        made.add_column(heading, justify="left" if heading in words else "right", no_wrap=heading == headings[0])
    return made


def key_value_table(report: Mapping[str, object]) -> Table:
    """A report as two columns for a person."""
    made = Table(show_header=False, box=None, pad_edge=False)
    for key, value in report.items():
        made.add_row(key.replace("_", " "), _shown(value))
    return made


def _shown(value: object) -> str:
    """A value for a person.

    >>> _shown(1 / 3), _shown((1, 2)), _shown({"equal keys": True}), _shown(None)
    ('0.333333', '1, 2', 'equal keys: yes', '–')
    """
    match value:
        case None:
            return "–"
        case bool():
            return "yes" if value else "no"
        case float():
            return f"{value:.6g}"
        case dict():
            return ", ".join(f"{name}: {_shown(one)}" for name, one in value.items())
        case tuple() | list():
            return ", ".join(map(_shown, value)) or "none"
    return str(value)
