"""Computations away from the event loop: a few at a time, a few waiting, and none for a client that has gone.

A client cancels by closing its request. What still waits is dropped at once; what runs stops at its next
`check()`, between two compiled calls, which nothing can interrupt.
"""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

from starlette.requests import Request

Answer = TypeVar("Answer")
CheckCancelled = Callable[[], None]

#: Seconds between two looks whether the client is still there.
GLANCE = 0.05


class Cancelled(Exception):
    """The client has closed the request."""


class Busy(Exception):
    """All places are taken, the waiting ones too."""

    def __init__(self, name: str, most: int) -> None:
        super().__init__(name)
        self.name, self.most = name, most


class Work:
    """A bounded pool of threads."""

    def __init__(self, name: str, running: int, waiting: int) -> None:
        self.name, self.most = name, running + waiting
        self._pool = ThreadPoolExecutor(running, thread_name_prefix=name)
        self._lock, self._taken = threading.Lock(), 0
        self._closed = threading.Event()

    @property
    def taken(self) -> int:
        """Computations that run or wait."""
        return self._taken

    async def do(self, request: Request, job: Callable[[CheckCancelled], Answer]) -> Answer:
        """Run `job(check)` in a thread; raise `Busy` without a place, `Cancelled` if the client leaves."""
        with self._lock:
            if self._taken >= self.most or self._closed.is_set():
                raise Busy(self.name, self.most)
            self._taken += 1
        gone = threading.Event()

        def check() -> None:
            if gone.is_set() or self._closed.is_set():
                raise Cancelled

        def run() -> Answer:
            check()
            return job(check)

        running = self._pool.submit(run)
        running.add_done_callback(self._leave)
        future = asyncio.wrap_future(running)
        future.add_done_callback(lambda done: done.cancelled() or done.exception())  # seen, even if nobody waits
        try:
            while not future.done():
                await asyncio.wait([future], timeout=GLANCE)
                if not future.done() and (self._closed.is_set() or await request.is_disconnected()):
                    raise Cancelled
            return future.result()
        finally:
            gone.set()
            running.cancel()

    def _leave(self, _: object) -> None:
        with self._lock:
            self._taken -= 1

    def prepare(self, job: Callable[[CheckCancelled], object]) -> None:
        """Run a job for nobody in particular, such as the compilation of what will be asked first."""

        def check() -> None:
            if self._closed.is_set():
                raise Cancelled

        with self._lock:
            self._taken += 1
        self._pool.submit(job, check).add_done_callback(self._leave)

    def close(self) -> None:
        """Take no more work; what runs stops at its next check."""
        self._closed.set()
        self._pool.shutdown(wait=False, cancel_futures=True)
