"""Settings of the algorithms."""

import pytest

from anyorder.chains import Dirichlet, Floored
from anyorder.errors import InputError
from anyorder.papers.two_can import dynamics


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"batch": 0}, "batch is 0, must be at least 1"),
        ({"rate": float("nan")}, "rate is nan, must be a number"),
        ({"length": 1}, "order is 1, must be smaller than the length 1"),
        ({"steps_2": -1}, "steps_2 is -1, must be at least 0"),
    ],
)
def test_settings_that_cannot_be_run_are_refused(change, said):
    with pytest.raises(InputError, match=said):
        dynamics.two_stage(Floored(1, 3), dynamics.TwoStage(**change))


def test_two_stage_is_about_order_one():
    with pytest.raises(InputError, match="order 2, the two-stage algorithm applies to order 1; use preconditioned"):
        dynamics.two_stage(Dirichlet(2, 2))
