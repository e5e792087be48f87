"""Input checks: paths to read, paths to write, and memory."""

import os
import re
import resource
import socket
import subprocess
import sys

import pytest

from anyorder import dynamics, estimators, training
from anyorder.chains import Dirichlet
from anyorder.errors import InputError
from anyorder.io import atomic, gates
from anyorder.io.gates import Gate


@pytest.fixture
def node(tmp_path):
    """Things that are no regular files, by kind."""
    os.mkfifo(tmp_path / "pipe")
    bound = socket.socket(socket.AF_UNIX)
    bound.bind(str(tmp_path / "socket"))
    bound.close()
    (tmp_path / "link").symlink_to("/dev/null")
    return {"pipe": tmp_path / "pipe", "socket": tmp_path / "socket", "link": tmp_path / "link", "device": "/dev/null"}


@pytest.mark.parametrize("kind", ["pipe", "socket", "link", "device"])
def test_only_regular_files_are_replaced(node, kind):
    before = os.lstat(node[kind])
    with pytest.raises(InputError, match="outputs are regular files"):
        atomic.write_text(node[kind], "x")
    with pytest.raises(InputError, match="outputs are regular files"):
        gates.check_writable(node[kind])
    assert os.lstat(node[kind]) == before


def test_links_are_followed(tmp_path):
    (tmp_path / "far").mkdir()
    (tmp_path / "link.txt").symlink_to(tmp_path / "far" / "file.txt")  # of no file yet
    for text in ("one", "two"):
        atomic.write_text(tmp_path / "link.txt", text)
        assert (tmp_path / "link.txt").is_symlink()
        assert (tmp_path / "far" / "file.txt").read_text() == text


@pytest.mark.parametrize(
    ("path", "words"),
    [
        ("x.exe", "must end in .png or .svg or .pdf"),
        ("figure", "must end in .png or .svg or .pdf"),
    ],
)
def test_figures_have_a_suffix_that_can_be_drawn(path, words):
    with pytest.raises(InputError, match=words):
        gates.check_writable(path, suffixes=gates.FIGURES)


@pytest.mark.parametrize(
    ("path", "words"),
    [
        ("", "the name of the file to write is empty"),
        ("a\0b", "embedded null byte"),
        ("x" * 300, "File name too long"),
        ("/proc/x", "belongs to the system"),
        ("/dev/stdout", "belongs to the system"),
        ("/sys/x", "cannot write to /sys"),
    ],
)
def test_names_that_cannot_be_written_are_refused_before_any_work(tmp_path, monkeypatch, path, words):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(InputError, match=words):
        gates.check_writable(path)
    assert list(tmp_path.iterdir()) == []


def test_two_outputs_in_one_place_are_refused(tmp_path):
    (tmp_path / "link").symlink_to(tmp_path)
    one, same = str(tmp_path / "a.npy"), str(tmp_path / "link" / "a.npy")
    with pytest.raises(InputError, match=r"--out and --kernels are both .*a.npy"):
        gates.check_paths([("--out", Gate("write"), one), ("--kernels", Gate("write"), same)])
    with pytest.raises(InputError, match="both"):
        gates.check_paths([("FILE", Gate("read"), one), ("--out", Gate("write"), same)])
    gates.check_paths([("DIR", Gate("read"), str(tmp_path)), ("--out", Gate("fill"), str(tmp_path))])
    with pytest.raises(InputError, match="--out is -, standard"):
        gates.check_paths([("--out", Gate("write"), "-")])


def test_reading_takes_regular_files_of_an_expected_size(tmp_path):
    file = tmp_path / "file"
    file.write_bytes(b"12345")
    assert gates.read_bytes(file, "a model", most=5) == b"12345"
    with pytest.raises(InputError, match="has 5 bytes, must be at most 4; give a model"):
        gates.read_bytes(file, "a model", most=4)
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(InputError, match="pipe is not a regular file; give a model"):
        gates.read_bytes(tmp_path / "pipe", "a model")
    with pytest.raises(InputError, match=r"--models is empty; name a file or a folder, \. for this one"):
        gates.check_paths([("--models", Gate("read"), "")])
    with pytest.raises(InputError, match="not a regular file"):
        gates.check_paths([("MODEL", Gate("read"), str(tmp_path / "pipe"))])


def test_a_lock_clears_only_files_of_processes_that_have_ended(tmp_path):
    (tmp_path / "inner").mkdir()
    other = "from anyorder.io.atomic import whole_file; import sys, os\n"
    other += "with whole_file(sys.argv[1]) as path:\n    print(path, flush=True); sys.stdin.read()\n"
    words = [sys.executable, "-c", other, str(tmp_path / "inner" / "a.txt")]
    with subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as writer:
        unfinished = writer.stdout.readline().strip()
        with atomic.locked(tmp_path):
            assert os.path.exists(unfinished)
        writer.kill()
        writer.wait()
        assert os.path.exists(unfinished)
        with atomic.locked(tmp_path):
            assert not os.path.exists(unfinished)


def test_a_limit_of_the_process_counts_as_memory_of_the_machine():
    program = (
        "import resource; from anyorder.io.gates import free_memory\n"
        f"resource.setrlimit(resource.RLIMIT_AS, ({2**30}, {resource.RLIM_INFINITY})); print(free_memory())"
    )
    found = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert 2**28 < int(found.stdout) < 2**30


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: estimators.floor(3), "source is 3, must be of the type Source | Prior | Kernel"),
        (lambda: estimators.mean_and_error([1.0]), "samples is [1.0], must be an array (count *shape) of numbers"),
        (lambda: training.changed(training.preset("fast"), 1), "changes is 1, must be a dictionary"),
        (lambda: dynamics.lag_scores_of(Dirichlet(1, 2), 0, lags=2, count=10**10), "2 lags of 10000000000 kernels"),
        (lambda: dynamics.initial(length=10**11, a_2=0.1), "100000000000 positions would need about"),
        (lambda: estimators.uniform_nodes(10**6, 2), "order 1000000 and 2 points, must be 1 to 18"),
    ],
)
def test_functions_refuse_other_classes_and_work_that_does_not_fit(call, words):
    with pytest.raises(InputError, match=re.escape(words)):
        call()
