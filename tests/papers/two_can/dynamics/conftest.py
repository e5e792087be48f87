"""A trained run that several test files look at."""

import pytest

from anyorder.chains import Floored
from anyorder.papers.two_can import dynamics
from tests.papers.two_can.dynamics.small import SMALL


@pytest.fixture(scope="session")
def learned():
    """Algorithm 1, in the small, with gradients from fresh chains."""
    return dynamics.two_stage(Floored(1, 2), dynamics.TwoStage(**SMALL))
