"""Models side by side and stacked, on one device and on two, and the rounds in which they take their steps."""

import subprocess
import sys

import jax
import numpy as np
import pytest

from anyorder.training.rounds import SideBySide, rounds
from anyorder.training.run import train
from tests.training.small import PAIR, ROOT, environment


@pytest.mark.slow
def test_stacked_models_are_the_same_up_to_rounding(finished):
    stacked = train(PAIR, stacked=True)
    for model, other in zip(stacked.models, finished[0].models, strict=True):
        for one, two in zip(jax.tree.leaves(model), jax.tree.leaves(other), strict=True):
            np.testing.assert_allclose(one, two, atol=1e-4)


@pytest.mark.slow
def test_a_stack_is_spread_over_devices(finished, tmp_path):
    """Two devices hold one model each of the stack."""
    program = (
        "import dataclasses, numpy, jax\n"
        "from anyorder.training.run import train\n"
        "from tests.training.small import PAIR\n"
        "result = train(PAIR, stacked=True)\n"
        f"numpy.save({str(tmp_path / 'e.npy')!r}, numpy.stack([model.embedding for model in result.models]))\n"
        "print(jax.local_device_count())"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], env=environment(tmp_path), cwd=ROOT, capture_output=True, text=True
    )
    assert done.stdout == "2\n", done.stderr
    expected = np.stack([model.embedding for model in finished[0].models])
    np.testing.assert_allclose(np.load(tmp_path / "e.npy"), expected, atol=1e-4)


class Told(SideBySide):
    """Two models; the second one's loss is NaN from a step on, or its weights are NaN at the end of a round."""

    def __init__(self, nan_from=None, unsound_at=None):
        self.asked, self.nan_from, self.unsound_at = [], nan_from, unsound_at

    def run(self, first, last):
        self.asked.append((first, last))
        losses = np.ones((2, last - first))
        if self.nan_from is not None:
            losses[1, max(self.nan_from - first, 0) :] = np.nan
        return losses, [True, last != self.unsound_at]


@pytest.mark.parametrize(
    ("steps", "first", "stops", "ends"),
    [
        (250, 0, (), [100, 200, 250]),
        (250, 0, (60,), [60, 100, 120, 180, 200, 240, 250]),
        (250, 120, (60, 1000), [180, 200, 240, 250]),
        (50, 50, (), []),
    ],
)
def test_rounds_end_at_every_hundred_and_at_every_stop(steps, first, stops, ends):
    models = Told()
    assert [one.last for one in rounds(models, steps, first, stops)] == ends
    assert models.asked == list(zip([first, *ends], ends, strict=False))


def test_the_step_at_which_a_model_diverged_is_told():
    assert [one.diverged for one in rounds(Told(nan_from=137), 250)] == [{}, {1: 137}, {1: 200}]
    assert [one.diverged for one in rounds(Told(unsound_at=200), 250)] == [{}, {1: 199}, {}]
