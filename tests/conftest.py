"""Fixtures that several test files share."""

import getpass
import os
import pathlib
import subprocess
import sys
import tempfile

# Both workers, processes started by tests, and later runs share every program, however small: compilation is most of
# the time of the tests, and reading a program from the cache takes a third of it.
os.environ.setdefault(
    "ANYORDER_CACHE", str(pathlib.Path(tempfile.gettempdir()) / f"anyorder-tests-{getpass.getuser()}")
)
os.environ.setdefault("JAX_COMPILATION_CACHE_DIR", os.environ["ANYORDER_CACHE"])
os.environ.setdefault("JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS", "0")
# The same for bytecode, even if Python is told to write none: compiling the instrumented modules takes 10 s.
sys.dont_write_bytecode = False
sys.pycache_prefix = str(pathlib.Path(os.environ["ANYORDER_CACHE"]) / "bytecode")
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
os.environ["PYTHONPYCACHEPREFIX"] = sys.pycache_prefix
# Programs of tests are small and run once: optimisation by XLA costs more than it saves.
os.environ.setdefault("JAX_DISABLE_MOST_OPTIMIZATIONS", "1")
# The former code generator for fused operations compiles twice as fast. XLA ends a process with an unknown flag, so a
# separate process tries first; the workers inherit its finding.
if "XLA_FLAGS" not in os.environ:
    flags = {"XLA_FLAGS": "--xla_cpu_use_fusion_emitters=false"}
    tried = subprocess.run(
        [sys.executable, "-c", "import jax; jax.devices()"], env={**os.environ, **flags}, capture_output=True
    )
    os.environ.update(flags if tried.returncode == 0 else {"XLA_FLAGS": ""})

import gc

import jax
import pytest

from anyorder.cli import main
from anyorder.io import plugins

#: Every compiled program maps its own memory, and Linux allows a process 65,530 maps.
MANY_MAPS = 30_000


#: These start first: a long test that starts last leaves the other worker idle.
LONGEST = {
    "test_everything_at_a_tiny_budget",
    "test_no_answer_violates_the_description",
    "test_a_killed_node_changes_nothing_in_the_table",
    "test_killed_and_interrupted_it_ends_with_the_same_bits",
}


def pytest_collection_modifyitems(items):
    items.sort(key=lambda item: item.name not in LONGEST)
    for item in items:
        if {"browser", "site"} & set(getattr(item, "fixturenames", ())):
            item.add_marker(pytest.mark.slow)


def pytest_collection_finish():
    # Freeze imported objects so that the garbage collector skips them.
    gc.freeze()
    gc.set_threshold(20_000, 20, 20)


@pytest.fixture(scope="module", autouse=True)
def _few_programs():
    """Drop compiled programs between modules, before there are too many for one process."""
    yield
    maps = pathlib.Path("/proc/self/maps")
    if maps.exists() and maps.read_bytes().count(b"\n") > MANY_MAPS:
        jax.clear_caches()
        gc.collect()


@pytest.fixture
def plugin(tmp_path, monkeypatch):
    """Write plug-ins and name them in the environment while the test runs."""

    def write(text, name="mine.py"):
        path = tmp_path / name
        path.write_text(text, encoding="utf-8")
        monkeypatch.setenv(plugins.VARIABLE, os.pathsep.join([*plugins.files(), str(path)]))
        return path

    return write


@pytest.fixture
def run(capsys):
    """Call the command line in this process; return exit code, standard output and standard error."""

    def call(*words):
        code = main([str(word) for word in words])
        captured = capsys.readouterr()
        return code, captured.out, captured.err

    return call
