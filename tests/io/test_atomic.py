"""Writing: every format, and no incomplete files."""

import errno
import json
import os
import socket
import subprocess
import sys

import numpy as np
import pytest

from anyorder.errors import InputError
from anyorder.io import atomic


def test_folders_are_not_written_to(tmp_path):
    with pytest.raises(InputError, match="is a folder"), atomic.whole_file(tmp_path):
        pass
    (tmp_path / "plain").write_text("x")
    with (
        pytest.raises(InputError, match="is a file where a folder is needed"),
        atomic.whole_file(tmp_path / "plain" / "below"),
    ):
        pass


def test_a_failed_write_leaves_the_old_file_and_no_scraps(tmp_path):
    target = tmp_path / "a.txt"
    target.write_text("old")
    with pytest.raises(RuntimeError, match="stop"), atomic.whole_file(target) as temporary:  # noqa: PT012
        temporary.write_text("half")
        raise RuntimeError("stop")
    assert target.read_text() == "old"
    assert [entry.name for entry in tmp_path.iterdir()] == ["a.txt"]


def test_a_text_may_hold_a_name_that_is_not_utf_8(tmp_path):
    atomic.write_text(tmp_path / "page.html", "run \udcff")
    assert (tmp_path / "page.html").read_text(encoding="utf-8") == r"run \udcff"


def test_a_full_disk_is_one_line_and_no_scraps(tmp_path):
    full = pytest.raises(InputError, match="No space left on device; nothing was written")
    with full, atomic.whole_file(tmp_path / "a.txt"):
        raise OSError(28, "No space left on device")
    assert list(tmp_path.iterdir()) == []


def test_arrays_are_written_as_npy_text_or_json_lines(tmp_path):
    tokens = np.array([[0, 1], [1, 1]])
    atomic.write_array(tmp_path / "t.npy", tokens)
    np.testing.assert_array_equal(np.load(tmp_path / "t.npy"), tokens)
    atomic.write_array(tmp_path / "t.txt", tokens)
    assert (tmp_path / "t.txt").read_text() == "0 1\n1 1\n"
    atomic.write_array(tmp_path / "d.jsonl", np.array([[np.nan, np.nan], [0.25, 0.75]]))
    assert [json.loads(line) for line in (tmp_path / "d.jsonl").read_text().splitlines()] == [None, [0.25, 0.75]]


def test_an_error_of_another_file_is_not_one_of_writing(tmp_path):
    """Only errors of the file itself become "cannot write"; other errors of the block are unchanged."""
    with pytest.raises(FileNotFoundError), atomic.whole_file(tmp_path / "a.txt"):
        (tmp_path / "absent").read_text()
    with pytest.raises(ConnectionError), atomic.whole_file(tmp_path / "a.txt"):
        raise ConnectionError("gone")
    with pytest.raises(InputError, match=r"cannot write .*a.txt: No space left"), atomic.whole_file(tmp_path / "a.txt"):
        raise OSError(errno.ENOSPC, "No space left on device")
    assert list(tmp_path.iterdir()) == []


def test_only_an_unfinished_last_line_is_left_out_and_it_is_said(tmp_path):
    path = tmp_path / "a.jsonl"
    atomic.append_lines(path, [{"step": 1}, {"step": 2}])
    with path.open("ab") as stream:
        stream.write(b'{"step": ')
    with pytest.warns(UserWarning, match=r"line 3 of .*a.jsonl, the last, was cut short and is left out"):
        assert atomic.read_lines(path, {"step": int}) == [{"step": 1}, {"step": 2}]


def test_lines_are_not_read_from_a_file_beyond_the_limit(tmp_path):
    with open(tmp_path / "a.jsonl", "wb") as stream:
        stream.truncate(1 << 40)  # sparse
    with pytest.raises(InputError, match=r"has 1,099,511,627,776 bytes, must be at most 268,435,456"):
        atomic.read_lines(tmp_path / "a.jsonl")


@pytest.mark.parametrize(
    ("line", "words"),
    [
        (b'{"step": 1', "is not valid JSON"),
        (b'{"step": \xff}', "is not valid JSON"),
        (b'{"step": NaN}', "NaN is not a JSON number"),
        (b"[" * 100_000, "nested too deeply"),
        (b"[1]", "contains [1], must be an object"),
        (b"{}", "has no step"),
        (b"{%s}" % b",".join(b'"%d":1' % (key % 99_999) for key in range(100_000)), "has the key '0' twice"),
        (b'{"step": true}', "has step true, must be a whole number"),
        (b"", "is not valid JSON"),
    ],
)
def test_damaged_lines_are_refused_by_file_and_line(tmp_path, line, words):
    path = tmp_path / "a.jsonl"
    path.write_bytes(b'{"step": 1}\n' + line + b'\n{"step": 3}\n')
    with pytest.raises(InputError) as caught:
        atomic.read_lines(path, {"step": int})
    assert str(caught.value).startswith(f"line 2 of {path} ")
    assert words in str(caught.value)
    assert "\n" not in str(caught.value)


def test_no_room_for_a_line_leaves_the_file_as_it_was(tmp_path, monkeypatch):
    path = tmp_path / "a.jsonl"
    atomic.append_lines(path, [{"step": 1}])

    def full(descriptor):
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(atomic.os, "fsync", full)
    with pytest.raises(InputError, match=r"cannot write .*: No space left on device; make room"):
        atomic.append_lines(path, [{"step": 2}])
    assert path.read_text() == '{"step": 1}\n'


def test_a_pipe_is_not_read(tmp_path):
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(InputError, match="is not a regular file; give a run"):
        atomic.read_json(tmp_path / "pipe", "a run")


def test_what_a_killed_process_left_is_not_in_the_way(tmp_path):
    left = tmp_path / f"{atomic.UNFINISHED}abc.json"
    left.write_text("half")
    assert not atomic.holds(tmp_path, "config.json")
    with atomic.locked(tmp_path):
        assert not left.exists()
        assert not atomic.holds(tmp_path, "config.json")
    assert list(tmp_path.iterdir()) == []
    inside = tmp_path / "depth" / f"{atomic.UNFINISHED}abc.svg"
    inside.parent.mkdir()
    inside.write_text("half")
    with atomic.locked(tmp_path):
        assert not inside.exists()
    (tmp_path / "thesis.txt").write_text("mine")
    with pytest.raises(InputError, match="already contains other files"):
        atomic.holds(tmp_path, "config.json")


HOLD = """import sys, time
from anyorder.io.atomic import locked
with locked(sys.argv[1]):
    print("held", flush=True)
    time.sleep(60)
"""


def test_a_lock_names_its_holder_and_ends_with_it(tmp_path):
    with subprocess.Popen([sys.executable, "-c", HOLD, tmp_path], stdout=subprocess.PIPE, text=True) as holder:
        assert holder.stdout.readline() == "held\n"
        who = f"is in use by process {holder.pid} on {socket.gethostname()}; wait for it"
        with pytest.raises(InputError, match=who), atomic.locked(tmp_path):
            pass
        holder.kill()
    assert list(tmp_path.iterdir()) != []  # the dead process left its lock
    with atomic.locked(tmp_path):
        pass
    assert list(tmp_path.iterdir()) == []
