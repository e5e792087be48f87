"""The trainings of an experiment."""

import pytest

from anyorder.io import atomic
from anyorder.papers.experiment import Task
from anyorder.training.config import Data


@pytest.mark.slow
def test_an_interrupted_training_goes_on(tmp_path):
    from anyorder.papers.experiment import of_preset, run_name

    task = Task("tiny", 1, tmp_path)
    config = of_preset(task, "paper", Data(order=1, length=4))
    folder = tmp_path / run_name(config)
    folder.mkdir()
    (folder / f"{atomic.UNFINISHED}abc.json").write_text("half")  # stopped before its first file was whole
    first = task.train(config)
    again = task.train(config)
    assert first.finished
    assert first.summary.models == again.summary.models
    later = Task("tiny", 1, tmp_path)
    later.train(config)
    assert task.earlier == {run_name(config): 0.0}
    assert later.earlier[run_name(config)] > 0  # earlier calls are counted
