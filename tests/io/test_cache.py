"""The cache between two calls of the command depends on the package only, and is optional."""

import os
import pwd

import pytest

from anyorder.io import cache


@pytest.fixture
def package(monkeypatch, tmp_path):
    """A package of two files, and an empty cache."""
    folder = tmp_path / "package"
    (folder / "inner").mkdir(parents=True)
    (folder / "registry.py").write_text("ENTRIES = ()\n")
    (folder / "inner" / "numbers.json").write_text("{}\n")
    monkeypatch.setattr(cache, "PACKAGE", folder)
    monkeypatch.setenv("ANYORDER_CACHE", str(tmp_path / "cache"))
    return folder


@pytest.fixture
def ask():
    """Request a value that counts its computations."""
    made = []

    def call(name="list"):
        return cache.kept(name, lambda: made.append(name) or {"made": len(made), "of": name})["made"]

    return call


def test_a_value_is_made_once_and_each_for_itself(package, ask):
    assert [ask(), ask(), ask("other"), ask(), ask("other")] == [1, 1, 2, 1, 2]


def test_every_change_of_the_package_is_noticed(package, ask, monkeypatch):
    assert ask() == 1
    (package / "registry.py").write_text("ENTRIES = (1,)\n")
    assert [ask(), ask()] == [2, 2]
    (package / "inner" / "mine.py").write_text("MINE = 1\n")
    assert [ask(), ask()] == [3, 3]
    (package / "inner" / "mine.py").rename(package / "inner" / "other.py")
    assert [ask(), ask()] == [4, 4]
    os.utime(package / "inner" / "numbers.json", ns=(1, 1))  # another content of the same size
    assert [ask(), ask()] == [5, 5]
    monkeypatch.setattr(cache, "__version__", "0.0.1")
    assert [ask(), ask()] == [6, 6]
    (package / "inner" / "compiled.pyc").write_text("")  # written by running the package
    assert ask() == 6


def test_two_installations_do_not_take_turns(package, ask, monkeypatch, tmp_path):
    assert ask() == 1
    monkeypatch.setattr(cache, "PACKAGE", tmp_path / "elsewhere")
    assert [ask(), ask()] == [2, 2]
    monkeypatch.setattr(cache, "PACKAGE", package)
    assert ask() == 1


@pytest.mark.parametrize("damage", [b"", b'{"stamp": ', b"\xff\xfe", b"[]", b"null", b"{}", b"[" * 100_000])
def test_what_is_damaged_is_made_again(package, ask, damage):
    assert ask() == 1
    (file,) = cache.folder("kept").iterdir()
    file.write_bytes(damage)
    assert [ask(), ask()] == [2, 2]


def test_a_place_that_cannot_be_written_is_no_error(package, ask, monkeypatch, tmp_path):
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("ANYORDER_CACHE", str(tmp_path / "file"))
    assert [ask(), ask()] == [1, 2]

    def nobody(user):
        raise KeyError(user)

    monkeypatch.chdir(tmp_path)
    for name in ("ANYORDER_CACHE", "XDG_CACHE_HOME", "HOME"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr(pwd, "getpwuid", nobody)
    assert [ask(), ask()] == [3, 4]
    assert not (tmp_path / "~").exists()


def test_the_folder_is_that_of_the_user_unless_one_is_named(monkeypatch, tmp_path):
    monkeypatch.setenv("ANYORDER_CACHE", str(tmp_path))
    assert cache.folder("xla") == tmp_path / "xla"
    monkeypatch.delenv("ANYORDER_CACHE")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    assert cache.folder("xla") == tmp_path / "anyorder" / "xla"
    monkeypatch.delenv("XDG_CACHE_HOME")
    monkeypatch.setenv("HOME", str(tmp_path))
    assert cache.folder("xla") == tmp_path / ".cache" / "anyorder" / "xla"
