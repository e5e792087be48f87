"""Registries, and the objects that plug-ins add to them."""

import json
import os
import re
import shlex
import sys
from pathlib import Path

import pytest

from anyorder.cli import main
from anyorder.errors import InputError
from anyorder.io import plugins
from anyorder.io.plugins import Registry
from anyorder.training.config import PRESETS

#: The page has a complete file of every kind.
PAGE = (Path(__file__).parents[2] / "docs" / "plugins.md").read_text(encoding="utf-8")
FILES = dict(re.findall(r"^`(\w+\.py)`:\n\n```python\n(.*?)^```", PAGE, re.M | re.S))
COMMANDS = re.findall(r"^anyorder (.*--plugin (\w+\.py).*)$", PAGE, re.M)
((IN_ENVIRONMENT, WITHOUT_FLAG),) = re.findall(r"^ANYORDER_PLUGINS=(\S+) anyorder (.*)$", PAGE, re.M)


@pytest.fixture
def written(tmp_path, monkeypatch):
    """Writes plug-ins and names them in the environment."""

    def write(**files: str) -> list[Path]:
        paths = [tmp_path / f"{name}.py" for name in files]
        for path, text in zip(paths, files.values(), strict=True):
            path.write_text(text)
        monkeypatch.setenv(plugins.VARIABLE, os.pathsep.join(map(str, paths)))
        return paths

    return write


def words(shipped=None) -> Registry:
    """A registry of strings in tuples of one; their name is the string."""
    return Registry("word", shipped or {}, lambda variable, value: value[0] if isinstance(value, tuple) else None)


def test_what_stands_at_the_top_level_is_found_and_private_names_are_not(written):
    written(mine='ONE = ("one",)\n_TWO = ("two",)\nother = 3\n')
    registry = words({"none": ("none",)})
    assert dict(registry) == {"none": ("none",), "one": ("one",)}
    assert registry["one"] == ("one",)
    assert registry.home("one").endswith("mine.py")
    assert registry.home("none") == "anyorder"


def test_what_a_plug_in_imports_is_not_its_own(written):
    written(mine="from anyorder.training.config import FLOOR\nfrom anyorder.papers.two_can.presets import PAPER as P\n")
    assert "p" not in PRESETS
    assert list(PRESETS) == ["floor", "fast", "paper", "published", "gpt2"]


def test_the_name_of_a_file_need_not_be_utf_8(written):
    written(**{"mine\udcff": 'ONE = ("one",)\n'})
    assert dict(words()) == {"one": ("one",)}


def test_a_plug_in_may_ask_the_registry_that_reads_it(written):
    written(mine='from anyorder.training import preset\nMY_OWN = preset("published", steps=7)\n')
    assert "my-own" in PRESETS
    assert PRESETS["my-own"].optimisation.steps == 7
    assert PRESETS["my-own"].optimisation.per_kernel == 16


def test_names_that_clash_are_refused_with_both_homes(written):
    one, other = written(one='A = ("same",)\n', other='B = ("same",)\n')
    with pytest.raises(InputError) as refused:
        list(words())
    assert str(refused.value) == f"the word 'same' is in {one} and in {other}; rename one of them"
    written(one='A = ("same",)\n')
    with pytest.raises(InputError, match=r"'same' is in anyorder and in .*one.py; rename"):
        list(words({"same": ("x",)}))


def test_without_the_plug_in_its_things_are_gone(written, monkeypatch):
    written(mine='ONE = ("one",)\n')
    registry = words()
    assert "one" in registry
    monkeypatch.delenv(plugins.VARIABLE)
    assert "one" not in registry
    with pytest.raises(InputError, match="no word 'one'"):
        registry.find("one")


def test_a_thing_itself_is_found_too():
    assert words().find(("mine",)) == ("mine",)
    with pytest.raises(InputError, match="the word is a int, must be a name"):
        words().find(3)


def test_a_folder_is_a_package_with_a_module_for_a_kind(tmp_path, monkeypatch):
    folder = tmp_path / "mine"
    folder.mkdir()
    (folder / "__init__.py").write_text("from .far import ONE\n")
    (folder / "far.py").write_text('ONE = ("one",)\nFAR = ("far",)\n')
    (folder / "words.py").write_text('TWO = ("two",)\n')
    monkeypatch.setenv(plugins.VARIABLE, str(folder))
    assert list(words()) == ["one", "two"]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("1/0\n", "ZeroDivisionError: division by zero"),
        ("a b\n", "SyntaxError: invalid syntax"),
        ("raise SystemExit(0)\n", "SystemExit: 0"),
        ("__path__ = 5\n", "TypeError: "),
        ("class E(Exception):\n    __str__ = None\nraise E\n", "E"),
    ],
)
def test_a_plug_in_that_cannot_be_imported_is_one_line(written, text, said):
    (path,) = written(mine=text)
    with pytest.raises(InputError) as refused:
        list(words())
    assert str(refused.value).startswith(f"the plug-in {path} cannot be imported: {said}")
    path.write_text('ONE = ("one",)\n')  # found after a correction
    assert list(words()) == ["one"]


def test_a_plug_in_prints_on_standard_error(written, run):
    written(mine="print('loaded')\nfrom anyorder.training import preset\nMINE = preset(steps=7)\n")
    code, text, error = run("papers", "--json")
    assert (code, error) == (0, "loaded\n")
    json.loads(text)


def test_a_path_that_would_be_read_as_two_is_refused(tmp_path):
    path = tmp_path / f"a{os.pathsep}b.py"
    path.write_text("")
    with pytest.raises(InputError, match="has ':' in its path, which separates plug-ins; rename it"):
        plugins.use(path)


def test_a_link_to_itself_is_refused(tmp_path, monkeypatch):
    loop = tmp_path / "loop.py"
    loop.symlink_to(loop)
    monkeypatch.setenv(plugins.VARIABLE, str(loop))
    with pytest.raises(InputError, match=r"loop.py cannot be imported: pass a Python file, or a folder"):
        list(words())


def test_any_exception_while_it_is_imported_is_one_line(tmp_path, monkeypatch):
    (tmp_path / "odd.py").write_text("class Odd(BaseException): pass\nraise Odd('one\\ntwo')\n")
    monkeypatch.setenv(plugins.VARIABLE, str(tmp_path / "odd.py"))
    with pytest.raises(InputError, match=r"odd.py cannot be imported: Odd: one$"):
        list(words())


BROKEN = """
import dataclasses
from anyorder.constructions import CONSTRUCTIONS
def build(*_, **options):
    raise ValueError("one\\ntwo")
BROKEN = dataclasses.replace(CONSTRUCTIONS["bigram"], name="broken", build=build)
"""


def test_code_of_a_plug_in_that_fails_is_named_with_its_line(tmp_path, capsys):
    (tmp_path / "broken.py").write_text(BROKEN)
    words = ["verify", "broken", "--plugin", str(tmp_path / "broken.py"), "--order", "1", "--length", "8"]
    assert main(words) == 2
    said = capsys.readouterr().err
    assert said == f"anyorder: the plug-in {tmp_path / 'broken.py'}, line 5, fails: ValueError: one\n"


def test_a_file_that_is_not_there_is_named(tmp_path, monkeypatch):
    monkeypatch.setenv(plugins.VARIABLE, str(tmp_path / "none.py"))
    with pytest.raises(InputError, match=r"none.py cannot be imported: pass a Python file, or a folder"):
        list(words())


def test_entry_points_of_installed_packages_are_found(tmp_path, monkeypatch):
    (tmp_path / "theirs.py").write_text('ONE = ("one",)\n')
    (tmp_path / "others.py").write_text('TWO, HIDDEN = ("two",), ("hidden",)\n')
    info = tmp_path / "theirs-1.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: theirs\nVersion: 1\n")
    (info / "entry_points.txt").write_text("[anyorder]\nall = theirs\nonly = others:TWO\n")
    monkeypatch.syspath_prepend(str(tmp_path))
    plugins._declared.cache_clear()
    try:
        registry = words()
        homes = {name: registry.home(name) for name in registry}
        assert homes == {"one": "the entry point theirs", "two": "the entry point others:TWO"}
        assert plugins.outside() == list(homes.values())
    finally:
        plugins._declared.cache_clear()
        for name in ("theirs", "others"):
            sys.modules.pop(name, None)


def test_every_kind_has_a_file_and_every_file_a_command():
    assert len(FILES) == PAGE.count("```python") == 7
    assert len(re.findall("^## ", PAGE, re.M)) == 7  # two files are sources; the last section is what can go wrong
    assert {file for _, file in COMMANDS} == set(FILES)


@pytest.mark.parametrize(
    ("environment", "command"), [(IN_ENVIRONMENT, WITHOUT_FLAG), *(("", command) for command, _ in COMMANDS)]
)
@pytest.mark.slow
def test_a_command_of_the_page_runs_with_its_file(environment, command, tmp_path, monkeypatch, run):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("ANYORDER_PLUGINS", environment)
    for name, text in FILES.items():
        Path(name).write_text(text, encoding="utf-8")
    Path("x.txt").write_text("0 1 1 0 1 0 0 1", encoding="utf-8")
    code, _, error = run(*shlex.split(command))
    assert code == 0, error
