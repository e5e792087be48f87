"""The Ray engine: a chunk is a task. Ray retries tasks whose worker or node died; a run starts again.

Tasks take and give JSON, so that only the name of one function is pickled.
"""

from __future__ import annotations

import importlib
import json
import logging
import os
import socket
import threading
from collections import deque
from collections.abc import Iterator, Sequence
from typing import Any

from anyorder.errors import InputError, require
from anyorder.io import plugins
from anyorder.sweeps.engine import ATTEMPTS, Chunk, Finished, lost, pack
from anyorder.sweeps.local import ROW, STACK
from anyorder.sweeps.spec import Run
from anyorder.sweeps.table import Ended
from anyorder.training import devices

#: Seconds in which a cluster must answer.
PATIENCE = 8.0
#: Submitted tasks per core: enough to keep the cluster busy, few enough to keep its queues short.
AHEAD = 4


def work(packed: str, files: str) -> str:
    """One task; the worker process keeps its compiled programs for the next one."""
    os.environ[plugins.VARIABLE] = files
    os.environ["NPROC"] = "1"  # one thread per model, as in the local engine
    devices.prepare()
    from anyorder.sweeps.chunk import answers

    return json.dumps(list(answers(packed)))


class Ray:
    """A running cluster, or one started on this machine."""

    def __init__(self, address: str | None = None, workers: int | None = None) -> None:
        require(workers is None or workers >= 1, f"workers is {workers}, must be at least 1; pass `workers=1` or more")
        try:
            self._ray = ray = importlib.import_module("ray")
        except ImportError:
            raise InputError("the engine needs Ray; pip install '.[ray]' in a clone") from None
        if address is not None:
            _knock(address)
        _connect(ray, address, workers)
        resources = ray.cluster_resources()
        gpus = int(resources.get("GPU", 0))
        self.workers, self.most = (gpus, STACK) if gpus else (max(1, int(resources.get("CPU", 1))), ROW)
        # Ray retries tasks whose process or node failed; the failure of a run is a result.
        options: dict[str, Any] = {"num_cpus": 1, "max_retries": ATTEMPTS - 1}
        self._task = ray.remote(**options, **({"num_gpus": 1} if gpus else {}))(work)
        self._pending: dict[Any, list[Run]] = {}

    @property
    def running(self) -> int:
        """An upper bound on the runs that are being trained now; only Ray knows which."""
        held = sum(map(len, self._pending.values())) if self.most == STACK else len(self._pending)
        return min(held, self.workers * (STACK if self.most == STACK else 1))

    def results(self, chunks: Sequence[Chunk]) -> Iterator[Finished]:
        """Submit, wait, and submit more."""
        ray, work = self._ray, deque(list(chunk) for chunk in chunks)
        while work or self._pending:
            while work and len(self._pending) < AHEAD * self.workers:
                chunk = work.popleft()
                self._pending[self._task.remote(pack(chunk), os.pathsep.join(plugins.files()))] = chunk
            ready, _ = ray.wait(list(self._pending), num_returns=1, timeout=1.0)
            for reference in ready:
                chunk = self._pending.pop(reference)
                try:
                    answers = json.loads(ray.get(reference))
                except ray.exceptions.RayError as error:
                    if len(chunk) == 1:
                        yield lost(chunk[0], f"the worker died ({type(error).__name__})")
                    work.extendleft([run] for run in chunk if len(chunk) > 1)  # one run caused it: retry each alone
                    continue
                yield from (Finished(number, Ended.from_json(ended), seconds) for number, ended, seconds in answers)

    def close(self) -> None:
        """Cancel remaining tasks and disconnect; shut down a cluster that was started here."""
        for reference in self._pending:
            self._ray.cancel(reference, force=True)
        self._pending.clear()
        self._ray.shutdown()


def _knock(address: str) -> None:
    """Reject an address without a listener; `auto` is left to Ray, which only looks at this machine."""
    if address == "auto":
        return
    host, _, port = address.removeprefix("ray://").rpartition(":")
    require(
        bool(host) and port.isdigit() and 0 < int(port) < 65536,
        f"address is {address!r}, must be HOST:PORT, ray://HOST:PORT or auto",
    )
    try:
        socket.create_connection((host, int(port)), timeout=PATIENCE / 2).close()
    except OSError as error:
        reason = error.strerror or str(error)
        raise InputError(f"nothing answers at {address} ({reason}); start Ray there, or drop `address=`") from None


def _connect(ray: Any, address: str | None, workers: int | None) -> None:
    """`ray.init` with a time limit: at the address of another service it would wait for minutes."""
    given: dict[str, Any] = {"address": address or "local", "log_to_driver": False, "logging_level": logging.ERROR}
    if address is None:
        given |= {"num_cpus": workers or devices.cores(), "include_dashboard": False}
    failures: list[BaseException] = []

    def connect() -> None:
        try:
            ray.init(**given)
        except BaseException as error:
            failures.append(error)

    if address is None:
        connect()
    else:
        thread = threading.Thread(target=connect, daemon=True)
        thread.start()
        thread.join(PATIENCE)
        wait = f"no Ray answers at {address} within {PATIENCE:g} s; start Ray there, or drop `address=`"
        require(not thread.is_alive(), wait)
    if failures:
        reason = (str(failures[0]).splitlines() or [type(failures[0]).__name__])[0]
        raise InputError(f"no Ray at {address or 'this machine'} ({reason}); start it, or use the local engine")
