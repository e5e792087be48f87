"""Lists and help come from cached data that equal the registries; a new entry appears automatically."""

import json
import os
import pathlib
import shutil
import subprocess
import sys

import pytest

import anyorder

#: Runs commands and prints the slow libraries that they imported.
PROGRAM = """
import sys
from anyorder.cli import main
for words in sys.argv[1:]:
    try:
        assert main(words.split()) == 0
    except SystemExit as end:
        assert not end.code
print("heavy:", sorted({"jax", "equinox", "scipy", "numba", "matplotlib"} & set(sys.modules)))
"""
#: A construction in a separate file.
MINE = """
import dataclasses

from anyorder.constructions.construction import Option
from anyorder.constructions.unrolled import K_HEAD

MINE = dataclasses.replace(
    K_HEAD, name="mine", advice="Take it first.", options=(Option("volume", 3, "how loud it is"),),
    build=lambda request, kappa, volume: K_HEAD.build(request, kappa),
    analyse=lambda request, volume: K_HEAD.analyse(request),
    steps=lambda request, volume: K_HEAD.steps(request),
)
"""


def called(cache, *commands, folder=None):
    """The output of a new process that runs the commands in turn, with the package of a folder."""
    words = [sys.executable, "-c", PROGRAM, *commands]
    environment = {**os.environ, "ANYORDER_CACHE": str(cache)}
    return subprocess.run(words, capture_output=True, text=True, check=True, env=environment, cwd=folder).stdout


@pytest.mark.slow
def test_lists_and_help_need_a_heavy_library_once(tmp_path):
    commands = ("estimate --help", "verify --help", "reproduce list", "claims list")  # each with its own registry
    others = ("constructions", "papers")
    made = [called(tmp_path, *some).rpartition("heavy:") for some in (commands, others)]
    assert all("jax" in heavy for _, _, heavy in made)
    kept, _, heavy = called(tmp_path, *commands, *others).rpartition("heavy:")
    assert heavy == " []\n"
    assert kept == "".join(shown for shown, _, _ in made)  # the cache equals the registries
    for said in ("unrolled-bayes", "attention-maps", "thm-two-layer", "Ekbote", "context-tree weighting", "--no-gated"):
        assert said in kept


def test_other_help_needs_none_at_all(tmp_path):
    commands = ("--help", "train --help", "demo --help", "dynamics --help", "reproduce --help", "claims --help")
    assert called(tmp_path, *commands).endswith("heavy: []\n")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.slow
def test_one_file_and_one_entry_are_all_that_a_construction_needs(tmp_path):
    package, cache = tmp_path / "anyorder", tmp_path / "cache"
    shutil.copytree(pathlib.Path(anyorder.__file__).parent, package)
    commands = ("constructions --json", "verify --help")
    assert "volume" not in called(cache, *commands, folder=tmp_path)
    (package / "constructions" / "mine.py").write_text(MINE, encoding="utf-8")
    registry = package / "constructions" / "registry.py"
    text = registry.read_text(encoding="utf-8")
    entered = text.replace("RECURRENT_BAYES,\n)", "RECURRENT_BAYES, MINE,\n)")
    assert entered != text
    registry.write_text(
        entered.replace("\nfrom anyorder", "\nfrom anyorder.constructions.mine import MINE\nfrom anyorder", 1),
        encoding="utf-8",
    )
    listed, _, rest = called(cache, *commands, folder=tmp_path).partition("\n")
    mine = json.loads(listed)["constructions"][-1]
    assert (mine["construction"], mine["advice"]) == ("mine", "Take it first.")
    assert set(mine["largest_exact_order"]["float32"]) == {"certified"}  # nothing was measured
    assert "How loud it is (mine; 3 by default)." in rest
