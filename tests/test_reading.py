"""Reading sequences: every format, and every error line."""

import io

import numpy as np
import pytest

from anyorder import reading
from anyorder.errors import InputError


def npy(array):
    buffer = io.BytesIO()
    np.save(buffer, array)
    return buffer.getvalue()


@pytest.mark.parametrize(
    ("name", "content", "options", "tokens", "size", "characters"),
    [
        ("a.txt", b"0 1 2\n1\t0\r\n", {}, [0, 1, 2, 1, 0], 3, None),
        ("a.txt", b"0 1", {"alphabet_size": 7}, [0, 1], 7, None),
        ("a.txt", b"0 0", {}, [0, 0], 2, None),
        ("a.npy", npy(np.array([3, 0], np.uint8)), {}, [3, 0], 4, None),
        ("a.npy", npy(np.array([1.0, 0.0])), {}, [1, 0], 2, None),
        ("a.npy", npy(np.array([[1, 0], [0, 1]])), {"row": 1}, [0, 1], 2, None),
        ("a.txt", b"0 1\n1 1\n", {"row": 1}, [1, 1], 2, None),
        ("a.txt", b"abba\n", {"alphabet": "auto"}, [0, 1, 1, 0], 2, "ab"),
        ("a.txt", b"abba\n", {"alphabet": "bac"}, [1, 0, 0, 1], 3, "bac"),
        ("a.txt", "αβ\nα".encode(), {"alphabet": "auto"}, [0, 1, 0], 2, "αβ"),
        ("a.txt", b"a\nb", {"alphabet": "ab\n"}, [0, 2, 1], 3, "ab\n"),
    ],
)
def test_every_format(tmp_path, name, content, options, tokens, size, characters):
    path = tmp_path / name
    path.write_bytes(content)
    read, read_size, read_characters = reading.read_tokens(path, **options)
    assert (read.tolist(), read_size, read_characters) == (tokens, size, characters)


@pytest.mark.parametrize(
    ("name", "content", "options", "message"),
    [
        ("a.txt", b"", {}, "is empty"),
        ("a.txt", b" \n", {}, "is empty"),
        ("a.txt", b"\n", {"alphabet": "auto"}, "is empty"),
        ("a.npy", npy(np.zeros(0, int)), {}, "is empty"),
        (
            "a.txt",
            b"0 1 5",
            {"alphabet_size": 3},
            "token 5 at position 2, must be 0 to 2; raise the alphabet size to 6",
        ),
        ("a.txt", b"0 -1", {}, "token -1 at position 1, must be 0 to 1; correct the input"),
        ("a.txt", b"0 one 1", {}, "'one' at position 1, must be an integer; for text pass --alphabet auto"),
        ("a.txt", b"0 1.5", {}, "'1.5' at position 1, must be an integer"),
        ("a.txt", b"0 nan", {}, "'nan' at position 1"),
        ("a.txt", b"0 99999999999999999999", {}, "at position 1, must be an integer"),
        ("a.txt", b"0 70000", {}, "alphabet size is 70001, at most 65536"),
        ("a.txt", b"0 1", {"alphabet_size": 1}, "alphabet size is 1, must be at least 2"),
        ("a.txt", b"abc", {"alphabet": "ab"}, "character 'c' at position 2, not in the alphabet 'ab'"),
        ("a.txt", b"abc", {"alphabet": "abb"}, "repeats 'b'"),
        ("a.txt", b"abc", {"alphabet": "a"}, "has 1 characters, must be at least 2"),
        ("a.txt", b"aaa", {"alphabet": "auto"}, "holds only the character 'a'"),
        ("a.txt", b"ab", {"alphabet": "ab", "alphabet_size": 2}, "together"),
        ("a.txt", b"\xff\xfe", {"alphabet": "auto"}, "is not UTF-8 text"),
        ("a.npy", npy(np.arange(100))[:60], {}, "is not a whole .npy file"),
        ("a.npy", npy(np.arange(100))[:200], {}, "is not a whole .npy file"),
        ("a.npy", b"\x93NUM", {}, "is not a whole .npy file"),
        ("a.npy", npy(np.array([0.0, np.nan])), {}, "has nan at position 1, tokens are integers"),
        ("a.npy", npy(np.array([0.0, np.inf])), {}, "has inf at position 1"),
        ("a.npy", npy(np.array([0.0, 0.5])), {}, "has 0.5 at position 1"),
        ("a.npy", npy(np.array(["a", "b"])), {}, "tokens are integers"),
        (
            "a.npy",
            npy(np.zeros((2, 3), int)),
            {},
            "shape (2, 3), must be one sequence (length,); choose one with --row",
        ),
        ("a.npy", npy(np.zeros((2, 3), int)), {"row": 2}, "--row is 2"),
        ("a.npy", npy(np.zeros(3, int)), {"alphabet": "ab"}, "drop --alphabet"),
    ],
)
def test_every_bad_input_is_one_line(tmp_path, name, content, options, message):
    path = tmp_path / name
    path.write_bytes(content)
    with pytest.raises(InputError) as caught:
        reading.read_tokens(path, **options)
    assert message in str(caught.value)
    assert "\n" not in str(caught.value)


def test_objects_are_not_unpickled(tmp_path):
    path = tmp_path / "a.npy"
    np.save(path, np.array([{"a": 1}], dtype=object), allow_pickle=True)
    with pytest.raises(InputError, match=r"not a whole \.npy file"):
        reading.read_tokens(path)


def test_missing_files_and_folders(tmp_path):
    with pytest.raises(InputError, match="No such file"):
        reading.read_tokens(tmp_path / "absent")
    with pytest.raises(InputError, match="Is a directory"):
        reading.read_tokens(tmp_path)
