"""The notebooks of the documentation run from top to bottom, and carry the results of such a run."""

import pathlib

import nbformat
import pytest
from nbclient import NotebookClient

pytestmark = pytest.mark.slow

FOLDER = pathlib.Path(__file__).parent.parent / "docs" / "notebooks"
NOTEBOOKS = sorted(FOLDER.glob("*.ipynb"))


def test_there_are_three_and_one_trains():
    assert FOLDER.joinpath("train_and_look.ipynb").read_text(encoding="utf-8").count("steps=800") == 1
    assert [path.stem for path in NOTEBOOKS] == ["build_and_break", "first_hour", "train_and_look"]


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_a_notebook_runs(path):
    notebook = nbformat.read(path, as_version=4)
    code = [cell for cell in notebook.cells if cell.cell_type == "code"]
    assert "pip install" in code[0].source
    assert all(cell.execution_count for cell in code), "write it with its results: make notebooks"
    for cell in code:  # the results in the file are of all steps; that the cells run shows with a few
        cell.source = cell.source.replace("steps=800", "steps=20")
    NotebookClient(notebook, timeout=300, kernel_name="python3").execute()
