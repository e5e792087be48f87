"""Every format, in blocks of any size."""

import io

import numpy as np
import pytest

from anyorder.io import sequence_formats
from tests.sequence_files import npy, read_one


@pytest.mark.parametrize("block", [1, 2, 1 << 20])
@pytest.mark.parametrize(
    ("name", "content", "options", "tokens", "size", "characters"),
    [
        ("a.txt", b"0 1 2\n1\t0\r\n", {}, [0, 1, 2, 1, 0], 3, None),
        ("a.txt", b"0 1", {"alphabet_size": 7}, [0, 1], 7, None),
        ("a.txt", b"0 0", {}, [0, 0], 2, None),
        ("a.npy", npy(np.array([3, 0], np.uint8)), {}, [3, 0], 4, None),
        ("a.npy", npy(np.array([1.0, 0.0])), {}, [1, 0], 2, None),
        ("-", npy(np.array([2, 0], np.int8)), {}, [2, 0], 3, None),
        ("a.npy", npy(np.array([[1, 0], [0, 1]])), {"row": 1}, [0, 1], 2, None),
        ("a.txt", b"0 1\n1 1\n", {"row": 1}, [1, 1], 2, None),
        ("a.txt", b"abba\n", {"alphabet": "auto"}, [0, 1, 1, 0], 2, "ab"),
        ("a.txt", b"abba\n", {"alphabet": "bac"}, [1, 0, 0, 1], 3, "bac"),
        ("a.txt", "αβ\nα".encode(), {"alphabet": "auto"}, [0, 1, 0], 2, "αβ"),
        ("a.txt", b"a\nb", {"alphabet": "ab\n"}, [0, 2, 1], 3, "ab\n"),
        ("a.txt", b"a\r\nb", {"alphabet": "auto", "line_ends": "keep"}, [0, 1, 2], 3, "a\nb"),
        ("a.txt", b"a\rb", {"alphabet": "auto", "line_ends": "space"}, [0, 1, 2], 3, "a b"),
        ("a.txt", b"ab\nba\n", {"alphabet": "auto", "row": 1}, [1, 0], 2, "ab"),
        ("a.fa", b">one\nAC\nGT\n", {}, [0, 1, 2, 3], 4, "ACGT"),
        ("-", b">one\r\nacGt", {}, [0, 1, 2, 3], 4, "ACGT"),
        ("a.fasta", b">one\nACNNGT\n>two\nA", {"row": 1}, [2, 3], 4, "ACGT"),
        ("a.fa", b">p\nMK*KM", {"alphabet": "KM", "row": 0}, [1, 0], 2, "KM"),
        ("a.npy", npy(np.asfortranarray([[1, 0, 1], [0, 1, 1]])), {"row": 0}, [1, 0, 1], 2, None),
    ],
)
def test_every_format_in_blocks_of_any_size(
    tmp_path, monkeypatch, block, name, content, options, tokens, size, characters
):
    monkeypatch.setattr(sequence_formats, "BLOCK", block)
    monkeypatch.chdir(tmp_path)
    if name == "-":
        monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(content)))
    else:
        (tmp_path / name).write_bytes(content)
    read, read_size, read_characters = read_one(name, **options)
    assert (read.tolist(), read_size, read_characters) == (tokens, size, characters)
