"""Computations outside the event loop: a few at a time, a few waiting, and none for a disconnected client.

A client cancels by closing its request. A waiting computation is dropped at once; a running one stops at its next
`check()`, between two compiled calls, which cannot be interrupted.
"""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from typing import TypeVar

from starlette.requests import Request

from anyorder.web import limits

Answer = TypeVar("Answer")
CheckCancelled = Callable[[], None]

#: Seconds between checks that the client is still connected.
GLANCE = 0.1


class Cancelled(Exception):
    """The client has closed the request."""


class Work:
    """A bounded pool of threads."""

    def __init__(self, name: str, running: int, waiting: int) -> None:
        self.name, self.most = name, running + waiting
        self._pool = ThreadPoolExecutor(running, thread_name_prefix=name)
        self.taken = 0  # computations that run or wait
        self._lock = threading.Lock()
        self._closed = threading.Event()

    async def do(self, request: Request, job: Callable[[CheckCancelled], Answer]) -> Answer:
        """Run `job(check)` in a thread, as `begin` does; raise `Cancelled` if the client leaves."""
        running, gone = self.begin(job)
        end = time.monotonic() + limits.LONGEST_WAIT
        future = asyncio.wrap_future(running)
        future.add_done_callback(lambda done: done.cancelled() or done.exception())  # seen, even if nobody waits
        try:
            while not future.done():
                await asyncio.wait([future], timeout=GLANCE)
                if not future.done() and (self._closed.is_set() or await request.is_disconnected()):
                    raise Cancelled
                if time.monotonic() > end and running.cancel():  # still waiting, not running
                    raise self._busy()
            return future.result()
        finally:
            gone.set()
            running.cancel()

    def begin(self, job: Callable[[CheckCancelled], Answer]) -> tuple[Future[Answer], threading.Event]:
        """Start `job(check)`, or reject it if the pool is full; setting the event stops it at its next check."""
        with self._lock:
            if self.taken >= self.most or self._closed.is_set():
                raise self._busy()
            self.taken += 1
        gone = threading.Event()

        def check() -> None:
            if gone.is_set() or self._closed.is_set():
                raise Cancelled

        def run() -> Answer:
            check()
            return job(check)

        running = self._pool.submit(run)
        running.add_done_callback(self._leave)
        return running, gone

    def _busy(self) -> limits.BeyondLimit:
        message = f"{self.name} that are being computed or wait: {self.taken}; try again in a moment"
        return limits.BeyondLimit(message, limits.Limit(self.name, self.taken, self.most), status=429)

    def _leave(self, _: object) -> None:
        with self._lock:
            self.taken -= 1

    def close(self) -> None:
        """Accept no more work; running computations stop at their next check."""
        self._closed.set()
        self._pool.shutdown(wait=False, cancel_futures=True)
