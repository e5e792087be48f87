"""Fixtures that several test files share."""

import getpass
import os
import pathlib
import tempfile

# Both workers, and later runs, share what was compiled: it is most of the time that tests take.
os.environ.setdefault(
    "JAX_COMPILATION_CACHE_DIR", str(pathlib.Path(tempfile.gettempdir()) / f"anyorder-tests-{getpass.getuser()}")
)
os.environ.setdefault("JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS", "0.2")
# Programs of tests are small and run once: what XLA would make of them costs more than it saves.
os.environ.setdefault("JAX_DISABLE_MOST_OPTIMIZATIONS", "1")

import pytest

from anyorder.cli import main


@pytest.fixture
def run(capsys):
    """Call the command line in this process; give exit code, standard output and standard error."""

    def call(*words):
        code = main([str(word) for word in words])
        captured = capsys.readouterr()
        return code, captured.out, captured.err

    return call
