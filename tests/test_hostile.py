"""Hostile input everywhere: a result or a one-line error, in bounded time and memory; never a traceback."""

import inspect
import operator
import re
import subprocess
import sys

import pytest

import anyorder
from tests import hostile

PACKAGES = (
    "chains", "constructions", "constructions.bounds", "constructions.price", "dynamics", "estimators", "models",
    "plot", "probing", "report", "sweeps", "training", "web", "zoo",
)  # fmt: skip
FACES = {"claims", "cli", "errors", "papers", "tokens", "torch"}  # registries, commands, and checks themselves
CHECKED = re.compile(r"(int|float|Number|bool|str \| Path|Path)\b")


def functions(package):
    module = operator.attrgetter(package)(anyorder)
    public = {name: getattr(module, name) for name in dir(module) if not name.startswith("_")}
    return {
        name: one
        for name, one in public.items()
        if inspect.isfunction(one) and one.__module__.startswith(module.__name__) and inspect.signature(one).parameters
    }


def test_every_package_is_walked():
    rooms = {name for name in anyorder.__all__ if name.islower() and (inspect.ismodule(getattr(anyorder, name)))}
    assert rooms - FACES == {package for package in PACKAGES if "." not in package}


@pytest.mark.parametrize("package", PACKAGES)
def test_every_public_function_is_fed_hostile_values(package):
    called = {*hostile.calls(), *hostile.ELSEWHERE}
    assert [name for name in functions(package) if not {name, f"{package}.{name}"} & called] == []


@pytest.mark.parametrize("package", PACKAGES)
def test_every_public_function_takes_numbers_switches_and_paths_through_the_gate(package):
    forgotten = [
        name
        for name, one in functions(package).items()
        if any(CHECKED.match(str(taken.annotation)) for taken in inspect.signature(one).parameters.values())
        if not is_gated(inspect.unwrap(one, stop=is_gated))
    ]
    assert forgotten == []


def is_gated(function):
    return getattr(function, "gated", False)


@pytest.mark.slow
@pytest.mark.parametrize("what", ["commands", "functions"])
def test_every_flag_and_every_argument_takes_or_refuses_hostile_values(what):
    """In a new process with limited memory, where annotations are not checked."""
    done = subprocess.run([sys.executable, "-m", "tests.hostile", what], capture_output=True, text=True)
    assert done.stdout.startswith("0 wrong"), done.stdout + done.stderr[-2000:]
    assert done.returncode == 0, done.stdout


#: Lines of a shell, each with words of its answer; the process may have two gigabytes of addresses beyond its start.
PROCESSES = {
    "train --length 99999999 --out run": "GiB are free; pass a smaller --seeds",
    "train --seeds 1000000000 --out run": "GiB are free; pass a smaller --seeds",
    "train --dimension 1000000 --out run": "GiB are free; pass a smaller --seeds",
    "sample --order 1000000000000000000000": "order is 1000000000000000000000, must be at most 1e+06",
    "sample --length 100000000": "GiB are free; sample fewer or shorter ones",
    "verify k-head --order 2 --length 16384": "GiB are free; pass a smaller --length or --sequences",
    "verify k-head --order 2 --sequences 1000000000": "sequences is 1000000000, must be at most 1e+06",
    "probe construction:k-head --order 2 --length 99999999": "GiB are free; pass a smaller --length",
    "estimate tokens.txt --order 100000000000000000000": "order is 100000000000000000000, must be at most 1e+06",
    "order tokens.txt --max-order 1000000000": "max order is 1000000000, must be at most 1e+06",
    "dynamics --length 99999999 --out run": "GiB are free; pass a smaller --length",
}


@pytest.mark.slow
@pytest.mark.parametrize("words", PROCESSES)
def test_work_that_does_not_fit_is_refused_with_its_size(words, tmp_path):
    (tmp_path / "tokens.txt").write_text("0 1 0 1 1 0\n")
    program = (
        "import resource, sys; from anyorder.cli import main\n"
        "import anyorder; anyorder.sample(order=1, length=4)\n"
        "used = 1024 * int(open('/proc/self/status').read().split('VmSize:')[1].split()[0])\n"
        "resource.setrlimit(resource.RLIMIT_AS, (used + (2 << 30), resource.RLIM_INFINITY))\n"
        f"sys.exit(main({words.split()!r}))"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, cwd=tmp_path, timeout=120)
    assert done.returncode == 2, done.stderr
    assert done.stderr.count("\n") == 1
    assert PROCESSES[words] in done.stderr
    assert [path.name for path in tmp_path.iterdir()] == ["tokens.txt"]
