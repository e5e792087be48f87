"""Priors by name."""

import typing

from anyorder.chains import PRIORS
from anyorder.chains.config import SourceConfig


def test_names_of_commands_are_in_the_registry():
    offered = typing.get_args(typing.get_type_hints(SourceConfig)["prior"])
    assert set(offered) == set(PRIORS)
    for name in offered:
        config = SourceConfig(prior=name, alphabet_size=3 if name == "recall" else 2)
        source = config.source_of(8)
        assert (source.prior.name, source.order) == (name, config.window)
