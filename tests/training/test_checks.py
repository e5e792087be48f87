"""Allowed values of a config."""

import pytest

from anyorder.errors import InputError
from anyorder.training.checks import check_config
from anyorder.training.config import Config, Data, preset


def test_choices_are_checked_outside_the_command_line_too():
    data = Data()
    object.__setattr__(data, "prior", "uniform")  # past the type checker that tests run under
    with pytest.raises(InputError, match="prior is 'uniform', must be one of dirichlet, floored, reversible"):
        check_config(Config(data=data))


@pytest.mark.parametrize(
    "changes",
    [{"prior": "tree"}, {"start": "stationary"}, {"token_noise": 0.1}, {"transition_noise": 0.1}],
    ids=lambda changes: next(iter(changes)),
)
def test_bayes_targets_need_counts_and_fast_takes_others_where_there_are_none(changes):
    with pytest.raises(InputError, match="targets bayes need Dirichlet rows, a uniform start and no noise"):
        check_config(preset(targets="bayes", **changes))
    order = 3  # the depth of the prior tree, too
    assert preset(order=order).optimisation.targets == "bayes"
    found = preset(order=order, **changes).optimisation
    assert (found.targets, found.steps) == ("exact", 1600)
