"""The local engine: one worker process for each core, or one for all accelerators.

Processes, not threads: a run that kills its process (out of memory, a crash in a library) does not affect other runs.
"""

from __future__ import annotations

import functools
import json
import os
import queue
import subprocess
import sys
import tempfile
import threading
from collections import Counter, deque
from collections.abc import Iterator, Sequence
from typing import Any

from anyorder.errors import InputError, require
from anyorder.sweeps.engine import ATTEMPTS, Chunk, Finished, lost, pack
from anyorder.sweeps.spec import Run
from anyorder.sweeps.table import Ended
from anyorder.training import devices

#: Models of one stack on an accelerator.
STACK = 64
#: Runs of one chunk on a CPU, where they run one after the other.
ROW = 16


class _Died(Exception):
    """The worker process died; the message says how."""


class Worker:
    """One process, with its input and output as lines."""

    def __init__(self) -> None:
        self._said = tempfile.TemporaryFile(mode="w+", encoding="utf-8", errors="replace")  # noqa: SIM115
        # One thread per model, as in `anyorder train`: the last bits of a model depend on it.
        environment = {"NPROC": "1", **os.environ}
        self.process = subprocess.Popen(
            [sys.executable, "-m", "anyorder.sweeps.worker"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._said,
            text=True,
            encoding="utf-8",
            env=environment,
            start_new_session=True,  # Ctrl-C reaches only the parent, which decides
        )

    @functools.cached_property
    def backend(self) -> str:
        """The name of the JAX backend, from the worker's first line."""
        return self._read()["backend"]

    def train(self, chunk: Chunk) -> Iterator[Finished]:
        """Send a chunk to the process, and yield its answers in order."""
        _ = self.backend  # precedes all answers
        assert self.process.stdin is not None
        try:
            self.process.stdin.write(pack(chunk) + "\n")
            self.process.stdin.flush()
        except BrokenPipeError:
            raise _Died(self._last_words()) from None
        for _ in chunk:
            number, ended, seconds = self._read()
            yield Finished(number, Ended.from_json(ended), seconds)

    def _read(self) -> Any:
        assert self.process.stdout is not None
        line = self.process.stdout.readline()
        if not line.endswith("\n"):
            raise _Died(self._last_words())
        return json.loads(line)

    def _last_words(self) -> str:
        code = self.process.wait()
        self._said.seek(0)
        lines = self._said.read().strip().splitlines()
        how = f"signal {-code}" if code < 0 else f"exit code {code}"
        return f"the worker ended with {how}" + (f" ({lines[-1].strip()})" if lines and code > 0 else "")

    def close(self) -> None:
        """Stop the process."""
        self.process.kill()
        self.process.wait()
        for stream in (self.process.stdin, self.process.stdout, self._said):
            if stream is not None:
                stream.close()


class Local:
    """Workers on this machine."""

    def __init__(self, workers: int | None = None) -> None:
        require(workers is None or workers >= 1, f"workers is {workers}, must be at least 1; pass `workers=1` or more")
        self._lock = threading.Lock()
        self._held: dict[int, int] = {}
        self._closed = False
        first = Worker()
        self._workers = [first]
        try:
            backend = first.backend
        except _Died as death:
            self.close()
            raise InputError(f"no worker could be started: {death}") from None
        self.workers, self.most = (workers or devices.cores(), ROW) if backend == "cpu" else (1, STACK)

    @property
    def running(self) -> int:
        """Runs that are being trained now."""
        return sum(1 for count in self._held.values() if count) if self.most == ROW else sum(self._held.values())

    def results(self, chunks: Sequence[Chunk]) -> Iterator[Finished]:
        """Train all chunks; a worker takes the next one when it is done."""
        work = deque(list(chunk) for chunk in chunks)
        answers: queue.Queue[Finished | BaseException] = queue.Queue()
        deaths: Counter[int] = Counter()
        left = sum(map(len, work))
        with self._lock:
            self._workers += [Worker() for _ in range(min(self.workers, len(work)) - len(self._workers))]
        for place in range(len(self._workers)):
            threading.Thread(target=self._serve, args=(place, work, answers, deaths), daemon=True).start()
        while left:
            answer = answers.get()
            if isinstance(answer, BaseException):
                raise answer
            left -= 1
            yield answer

    def _serve(self, place: int, work: deque[list[Run]], answers: queue.Queue, deaths: Counter[int]) -> None:
        try:
            while not self._closed:
                try:
                    chunk = work.popleft()
                except IndexError:
                    return
                while chunk:
                    worker = self._workers[place]
                    self._held[place] = len(chunk)
                    try:
                        for found in worker.train(chunk):
                            chunk = [run for run in chunk if run.number != found.number]
                            self._held[place] = len(chunk)
                            answers.put(found)
                    except _Died as death:
                        if self._closed:
                            return
                        # Runs answer in turn: the first without an answer was being trained.
                        deaths[chunk[0].number] += 1
                        if deaths[chunk[0].number] == ATTEMPTS:
                            answers.put(lost(chunk[0], str(death)))
                            chunk = chunk[1:]
                        with self._lock:
                            worker.close()
                            self._workers[place] = Worker()
        except BaseException as error:
            answers.put(error)

    def close(self) -> None:
        """Stop all workers at once."""
        with self._lock:
            self._closed = True
            for worker in self._workers:
                worker.process.kill()
                worker.process.wait()
