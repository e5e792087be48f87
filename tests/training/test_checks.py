"""Allowed values of a config."""

import pytest

from anyorder.errors import InputError
from anyorder.training.checks import check_config
from anyorder.training.config import Config, Data


def test_choices_are_checked_outside_the_command_line_too():
    data = Data()
    object.__setattr__(data, "prior", "uniform")  # past the type checker that tests run under
    with pytest.raises(InputError, match="prior is 'uniform', must be one of dirichlet, floored, reversible"):
        check_config(Config(data=data))
