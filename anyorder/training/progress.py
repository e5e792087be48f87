"""Progress of a run: a bar on a terminal, occasional lines elsewhere."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Iterator
from typing import NamedTuple, Protocol, runtime_checkable

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, TextColumn, TimeRemainingColumn
from rich.progress import Progress as Bar

#: Seconds between two lines where there is no terminal.
QUIET = 5.0


class Progress(NamedTuple):
    """The progress of a run: means over its models, and the steps per second of each."""

    step: int
    steps: int
    loss: float
    gap: float | None
    excess: float
    speed: float


@runtime_checkable
class RoundWatcher(Protocol):
    """A callback that receives the progress of a run."""

    def __call__(self, progress: Progress, /) -> None:
        """Called after every round."""


@runtime_checkable
class Stop(Protocol):
    """A callback that decides whether a run should end."""

    def __call__(self) -> bool:
        """Asked before the first round and after every one."""


@contextlib.contextmanager
def shown(models: int, wanted: bool | None = None) -> Iterator[RoundWatcher]:
    """Show the progress of a run on standard error; None: only in a terminal or a notebook."""
    console = Console(stderr=True)
    if not (console.is_terminal or console.is_jupyter if wanted is None else wanted):
        yield lambda progress: None
    elif console.is_terminal:
        columns = (BarColumn(), MofNCompleteColumn(), TextColumn("{task.fields[facts]}"), TimeRemainingColumn())
        with Bar(*columns, console=console, transient=True) as bar:
            task = bar.add_task("steps", total=None, facts="compiling")
            yield lambda now: bar.update(task, completed=now.step, total=now.steps, facts=_facts(now, models))
    else:
        last = time.monotonic()

        def line(now: Progress) -> None:
            nonlocal last
            if time.monotonic() - last > QUIET or now.step == now.steps:
                last = time.monotonic()
                left = (now.steps - now.step) / now.speed
                text = f"step {now.step}/{now.steps}  {_facts(now, models)}  {left:.0f} s left"
                console.print(text, highlight=False, soft_wrap=True)

        yield line


def _facts(now: Progress, models: int) -> str:
    distance = f"excess {now.excess:.4f}" if now.gap is None else f"gap {now.gap:+.4f}"
    return f"loss {now.loss:.4f}  {distance}  {now.speed * models:.0f} steps/s"
