"""Where rounds end, and who diverged in them, with models that only say what they lost."""

import numpy as np
import pytest

from anyorder.training.engine import SideBySide
from anyorder.training.rounds import rounds


class Told(SideBySide):
    """Two models; the second one's loss is no number from a step on, or its weights are none at the end of a round."""

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
    found = [(one.first, one.last) for one in rounds(models, steps, first, stops)]
    assert found == models.asked == list(zip([first, *ends], ends, strict=False))


def test_the_step_at_which_a_model_diverged_is_told():
    assert [one.diverged for one in rounds(Told(nan_from=137), 250)] == [{}, {1: 137}, {1: 200}]
    assert [one.diverged for one in rounds(Told(unsound_at=200), 250)] == [{}, {1: 199}, {}]
