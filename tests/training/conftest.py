"""A finished run that several test files use."""

import pytest

from anyorder.training.run import train
from tests.training.small import PAIR


@pytest.fixture(scope="session")
def finished(tmp_path_factory):
    """A finished tiny run, and its folder, which tests copy before changing it."""
    folder = tmp_path_factory.mktemp("runs") / "finished"
    reports = []
    return train(PAIR, folder, watch=reports.append), folder, reports
