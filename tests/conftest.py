"""Fixtures that several test files share."""

import pytest

from anyorder.cli import main


@pytest.fixture
def run(capsys):
    """Call the command line in this process; give exit code, standard output and standard error."""

    def call(*words):
        code = main([str(word) for word in words])
        captured = capsys.readouterr()
        return code, captured.out, captured.err

    return call
