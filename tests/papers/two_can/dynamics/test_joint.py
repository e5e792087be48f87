"""Training both heads."""

from __future__ import annotations

import pytest

from anyorder.chains import PointMass
from anyorder.errors import InputError
from anyorder.papers.two_can import dynamics
from tests.papers.two_can.dynamics.small import STICKY


@pytest.mark.parametrize(("name", "value"), [("steps", 0), ("batch", 0), ("rate", -1.0), ("length", 1), ("a_2", 0.0)])
def test_settings_that_cannot_be_run_are_refused(name, value):
    with pytest.raises(InputError, match=rf"{name} (is )?{value}"):
        dynamics.train_jointly(PointMass(STICKY), dynamics.JointTraining(**{name: value}))


@pytest.mark.slow
def test_training_both_heads_tells_orders_apart():
    found = dynamics.train_jointly(PointMass(STICKY), dynamics.JointTraining(length=32, steps=150, batch=32))
    assert set(found.found) == {"from p = 0", "from dyadic", "from triadic"}
    standings = found.evaluation.standings
    assert standings["from dyadic"].excess < standings["dyadic, a_2 trained only"].excess
    for one in found.found.values():
        assert one.attention.sum() == pytest.approx(1)
        assert one.query_attention.sum() == pytest.approx(1)
        assert set(one.offsets) & {1, 2}
