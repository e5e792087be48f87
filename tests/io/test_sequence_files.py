"""Reading sequences: every format, and every error line."""

import os
import tracemalloc

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from anyorder.errors import InputError
from anyorder.io import sequence_files
from tests.sequence_files import header, npy, read_one


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
        ("a.txt", b"0 one 1", {}, "'one' at position 1, must be an integer; for text pass `alphabet=auto`"),
        ("a.txt", b"0 1.5", {}, "'1.5' at position 1, must be an integer"),
        ("a.txt", b"0 nan", {}, "'nan' at position 1"),
        ("a.txt", b"0 99999999999999999999", {}, "has token 99999999999999999999 at position 1, too large"),
        ("a.txt", b"0 9223372036854775813", {}, "has token 9223372036854775813 at position 1, too large"),
        ("a.txt", b"0 1e30", {}, "has '1e30' at position 1, must be an integer"),
        ("a.npy", npy(np.array([0.0, 1e30])), {}, "has token 1e+30 at position 1, too large"),
        (
            "a.npy",
            npy(np.array([0, 2**63 + 5], np.uint64)),
            {},
            "has token 9223372036854775813 at position 1, too large",
        ),
        (
            "a.npy",
            header((10**12,)),
            {},
            "is not a complete .npy file (mmap length is greater than file size); write it again",
        ),
        ("a.npy", header((1 << 62, 1 << 62)), {}, "is not a complete .npy file"),
        ("a.npy", header((1 << 61,)), {}, "is not a complete .npy file"),  # 2^64 bytes
        ("a.npy", header((-1,)) + b"0" * 8, {}, "is not a complete .npy file"),
        ("a.npy", npy(np.zeros((1, 2, 2), int)), {}, "shape (1, 2, 2), must be one sequence (length,)"),
        ("a.txt", b"0 70000", {}, "alphabet size is 70001, at most 65536"),
        ("a.txt", b"0 1", {"alphabet_size": 1}, "alphabet size is 1, must be at least 2"),
        ("a.txt", b"abc", {"alphabet": "ab"}, "character 'c' at position 2, not in the alphabet 'ab'"),
        ("a.txt", b"abc", {"alphabet": "abb"}, "repeats 'b'"),
        ("a.txt", b"abc", {"alphabet": "a"}, "has 1 characters, must be at least 2"),
        ("a.txt", b"aaa", {"alphabet": "auto"}, "contains only the character 'a'"),
        ("a.txt", b"ab", {"alphabet": "ab", "alphabet_size": 2}, "together"),
        ("a.txt", b"\xff\xfe", {"alphabet": "auto"}, "is not UTF-8 text"),
        ("a.npy", npy(np.arange(100))[:60], {}, "is not a complete .npy file"),
        ("a.npy", npy(np.arange(100))[:200], {}, "is not a complete .npy file"),
        ("a.npy", b"\x93NUM", {}, "is not a complete .npy file"),
        ("a.npy", npy(np.array([0.0, np.nan])), {}, "has nan at position 1, tokens are integers"),
        ("a.npy", npy(np.array([0.0, np.inf])), {}, "has inf at position 1"),
        ("a.npy", npy(np.array([0.0, 0.5])), {}, "has 0.5 at position 1"),
        ("a.npy", npy(np.array(["a", "b"])), {}, "tokens are integers"),
        (
            "a.npy",
            npy(np.zeros((2, 3), int)),
            {},
            "contains 2 sequences, must be one; choose one with `row=`",
        ),
        ("a.npy", npy(np.zeros((2, 3), int)), {"row": 2}, "row is 2, a.npy has rows 0 to 1"),
        ("a.npy", npy(np.zeros(3, int)), {"alphabet": "ab"}, "drop `alphabet=`"),
        ("a.txt", b"x" * 3000, {}, "'xxxxxxxxxxxxxxxxxxxx…' at position 0, must be an integer"),
        ("a.txt", "é".encode() * 3 + b"\xff", {"alphabet": "auto"}, "is not UTF-8 text (byte 6)"),
        ("a.fa", b">one\nNNN\n", {}, "has no letter of the alphabet 'ACGT'"),
        ("a.fa", b">one\n>two\n", {}, "has no letter of the alphabet 'ACGT'"),
        ("a.fa", b">one\nACGT\n", {"alphabet": "auto"}, "is FASTA, whose letters are not guessed"),
        ("a.fa", b">one\nACGT\n>two\nAC", {}, "contains 2 sequences, must be one"),
        ("a.fa", b">one\nACGT\n", {"alphabet_size": 4}, "the alphabet has its own size"),
    ],
)
def test_every_bad_input_is_one_line(tmp_path, monkeypatch, name, content, options, message):
    monkeypatch.chdir(tmp_path)
    (tmp_path / name).write_bytes(content)
    with pytest.raises(InputError) as caught:
        read_one(name, **options)
    assert message in str(caught.value)
    assert "\n" not in str(caught.value)


def test_objects_are_not_unpickled(tmp_path):
    path = tmp_path / "a.npy"
    np.save(path, np.array([{"a": 1}], dtype=object), allow_pickle=True)
    with pytest.raises(InputError, match=r"not a complete \.npy file"):
        read_one(path)


def test_missing_files_and_folders(tmp_path):
    with pytest.raises(InputError, match="No such file"):
        read_one(tmp_path / "absent")
    with pytest.raises(InputError, match="Is a directory"):
        read_one(tmp_path)


def test_what_was_passed_over_is_told(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "a.fa").write_bytes(b">one\nACgtNNRA\n>empty\n>two\nCC\n")
    with sequence_files.open_sequences("a.fa") as sequences:
        assert (sequences.count, sequences.length) == (3, 7)
        assert [(part.tokens.tolist(), part.begins) for part in sequences.chunks()] == [
            ([0, 1, 2, 3], True),
            ([0], True),
            ([1, 1], True),
        ]
        assert sequences.notes == (
            "3 letters are not in the alphabet 'ACGT' (2 N, 1 R): sequences end there",
            "2 small letters (soft-masked) count as capitals",
            "1 FASTA records are empty: left out",
        )
    (tmp_path / "a.txt").write_bytes(b"ab\nba\n")
    with sequence_files.open_sequences("a.txt", alphabet="auto") as sequences:
        assert sequences.notes[0].startswith("2 line ends were dropped")
    with sequence_files.open_sequences("a.txt", alphabet="auto", line_ends="split") as sequences:
        assert (sequences.count, sequences.length, sequences.notes) == (2, 4, ())


def test_pipes_are_not_waited_for(tmp_path):
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    with pytest.raises(InputError, match="is not a regular file; give a file, or - for standard input"):
        read_one(pipe)


def test_memory_does_not_grow_with_the_file(tmp_path):
    path = tmp_path / "long.txt"
    path.write_bytes(b"abcd" * (1 << 22))
    tracemalloc.start()
    with sequence_files.open_sequences(path, alphabet="auto") as sequences:
        assert sum(part.tokens.size for part in sequences.chunks()) == sequences.length == 1 << 24
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 1 << 26


SAMPLES = {
    "a.npy": (npy(np.array([[0, 1, 1], [1, 0, 1]])), {"row": 1}),
    "b.npy": (npy(np.array([0.0, 1.0])), {}),
    "a.txt": (b"0 1 1 0\n1 0\n", {}),
    "b.txt": ("abé\nba".encode(), {"alphabet": "auto"}),
    "a.fa": (b">one\nACGTN\nac\n>two\nGG\n", {"row": 0}),
}


@pytest.mark.parametrize("name", SAMPLES)
@settings(max_examples=150, deadline=None)
@given(data=st.data())
def test_damaged_files_are_read_or_refused_in_one_line(tmp_path_factory, name, data):
    content, options = bytearray(SAMPLES[name][0]), SAMPLES[name][1]
    for _ in range(data.draw(st.integers(1, 4))):
        content[data.draw(st.integers(0, len(content) - 1))] = data.draw(st.integers(0, 255))
    cut = data.draw(st.integers(0, len(content)))
    path = tmp_path_factory.getbasetemp() / name
    path.write_bytes(bytes(content[:cut]) + data.draw(st.binary(max_size=8)))
    said = ""
    try:
        tokens, size, _ = read_one(path, **options)
    except InputError as error:
        said = str(error)
    assert "\n" not in said
    assert said or ((tokens >= 0) & (tokens < size)).all()
