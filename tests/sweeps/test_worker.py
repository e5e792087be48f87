"""A worker whose sweep dies."""

import pathlib
import subprocess
import sys

import pytest

from anyorder.sweeps import engine, spec
from anyorder.training import config as configs
from tests.sweeps.small import TINY

pytestmark = pytest.mark.slow


@pytest.mark.skipif(not pathlib.Path("/proc/self/stat").exists(), reason="looks at processes as Linux shows them")
def test_workers_end_when_their_sweep_is_killed():
    words = [sys.executable, "-m", "anyorder.sweeps.worker"]
    with subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as worker:
        worker.stdout.readline()
        long = configs.changed(TINY, {"steps": 1_000_000})
        worker.stdin.write(engine.pack([spec.Run(0, {}, 0, long)]) + "\n")
        worker.stdin.close()  # as the system does for a process that is gone
        assert worker.wait(timeout=10) == 0
