"""Writing: every format, and nothing half-written."""

import json

import numpy as np
import pytest

from anyorder import files
from anyorder.errors import InputError


def test_folders_are_not_written_to(tmp_path):
    with pytest.raises(InputError, match="is a folder"), files.whole_file(tmp_path):
        pass
    (tmp_path / "plain").write_text("x")
    with pytest.raises(InputError, match="cannot write"), files.whole_file(tmp_path / "plain" / "below"):
        pass


def test_a_failed_write_leaves_the_old_file_and_no_scraps(tmp_path):
    target = tmp_path / "a.txt"
    target.write_text("old")
    with pytest.raises(RuntimeError, match="stop"), files.whole_file(target) as temporary:  # noqa: PT012
        temporary.write_text("half")
        raise RuntimeError("stop")
    assert target.read_text() == "old"
    assert [entry.name for entry in tmp_path.iterdir()] == ["a.txt"]


def test_a_full_disk_is_one_line_and_no_scraps(tmp_path):
    full = pytest.raises(InputError, match="No space left on device; nothing was written")
    with full, files.whole_file(tmp_path / "a.txt"):
        raise OSError(28, "No space left on device")
    assert list(tmp_path.iterdir()) == []


def test_arrays_are_written_as_npy_text_or_json_lines(tmp_path):
    tokens = np.array([[0, 1], [1, 1]])
    files.write_array(tmp_path / "t.npy", tokens)
    np.testing.assert_array_equal(np.load(tmp_path / "t.npy"), tokens)
    files.write_array(tmp_path / "t.txt", tokens)
    assert (tmp_path / "t.txt").read_text() == "0 1\n1 1\n"
    files.write_array(tmp_path / "d.jsonl", np.array([[np.nan, np.nan], [0.25, 0.75]]))
    assert [json.loads(line) for line in (tmp_path / "d.jsonl").read_text().splitlines()] == [None, [0.25, 0.75]]
