"""Sweeps by name."""

import pytest

from anyorder.errors import InputError
from anyorder.sweeps import builtin


def test_sweeps_of_the_lab_and_of_papers_are_found_by_name():
    assert {name: builtin.find(name).count for name in builtin.SWEEPS} == {
        "phase": 72,
        "learning-rate": 15,
        "paper-grid": 19_440,
    }
    with pytest.raises(InputError, match="neither a TOML file nor a sweep; did you mean phase"):
        builtin.find("phases")
