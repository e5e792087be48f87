"""Engines: chunks of runs go in, results come out in any order.

`anyorder.sweeps.local` has one worker process for each core, `anyorder.sweeps.ray_engine` submits chunks to a Ray
cluster. Both exchange plain JSON, and `anyorder.sweeps.chunk` does the work.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from typing import NamedTuple, Protocol, runtime_checkable

from anyorder.io.trees import as_json
from anyorder.sweeps.spec import Run
from anyorder.sweeps.table import Ended

#: Attempts after which a run whose workers died has failed.
ATTEMPTS = 3

Chunk = Sequence[Run]


class Finished(NamedTuple):
    """A finished run: its number, its result, and the seconds of its worker."""

    number: int
    result: Ended
    seconds: float


@runtime_checkable
class Engine(Protocol):
    """Protocol of a backend that trains runs."""

    #: Number of chunks that are trained at the same time.
    workers: int
    #: Largest number of runs in a chunk.
    most: int

    @property
    def running(self) -> int:
        """Runs that are being trained now."""

    def results(self, chunks: Sequence[Chunk]) -> Iterator[Finished]:
        """Train all chunks; runs of a dead worker are retried, and fail after a few attempts."""

    def close(self) -> None:
        """Stop all started processes."""


def pack(chunk: Chunk) -> str:
    """A chunk as one line of JSON, the argument of `chunk.answers`."""
    return json.dumps([[run.number, as_json(run.config)] for run in chunk])


def lost(run: Run, reason: str) -> Finished:
    """The result of a run whose worker died in every attempt."""
    return Finished(run.number, Ended("failed", f"{reason}, {ATTEMPTS} times"), 0.0)
