"""Flags without effect, given the other flags: one table of rules for all commands. Such flags are rejected.

Conditions read the registries, which import JAX, so they are evaluated only for flags that were given.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

from anyorder import estimators
from anyorder.chains.config import OF_A_PRIOR, PRIORS
from anyorder.errors import require


class Rule(NamedTuple):
    """Flags of a command, the test whether a flag has no effect, and the reason, with the command's values as {0.…}."""

    command: str
    flags: tuple[str, ...]
    unused: Callable[[Any, str], bool]
    why: str


def _not_of_prior(prior: str, flag: str) -> bool:
    return flag not in inspect.signature(PRIORS.find(prior)).parameters


def _without_smoothing(estimator: str) -> bool:
    return estimators.ESTIMATORS.find(estimator).beta is None


def _is_run(model: str) -> bool:
    from anyorder.training.folder import METRICS

    return (Path(model) / METRICS).exists()


RULES = (
    Rule("Sample", OF_A_PRIOR, lambda one, _: one.kernel is not None, "{0.kernel} is a kernel without a prior"),
    Rule("Sample", OF_A_PRIOR, lambda one, flag: _not_of_prior(one.prior, flag), "the prior {0.prior} has none"),
    Rule(
        "Train",
        OF_A_PRIOR,
        lambda one, flag: _not_of_prior(one.settings.data.prior, flag),
        "the prior {0.settings.data.prior} has none",
    ),
    Rule("EstimateCommand", ("beta",), lambda one, _: _without_smoothing(one.estimator), "{0.estimator} has none"),
    Rule(
        "Verify",
        ("length", "sequences", "seed"),
        lambda one, _: one.exhaustive is not None,
        "--exhaustive {0.exhaustive} takes all sequences of its own length",
    ),
    *(
        Rule(name, ("target_error",), lambda one, _: one.kappa is not None, "--kappa {0.kappa:g} takes its place")
        for name in ("Verify", "Predict", "Build")
    ),
    Rule(
        "Probe",
        ("order", "alphabet_size"),
        lambda one, _: not one.model.startswith("construction:"),
        "{0.model} has its own",
    ),
    Rule("Probe", ("member",), lambda one, _: not _is_run(one.model), "{0.model} is not a run folder"),
    Rule(
        "Probe",
        ("sequences", "length", "symbols", "seed"),
        lambda one, _: one.model.endswith(".npz"),
        "{0.model} has its own sequences",
    ),
)


def check_used(command: Any, given: Mapping[str, Any]) -> None:
    """Reject given flags that have no effect in this command."""
    values = dict(_flat(given))
    for rule in RULES:
        for flag in rule.flags if rule.command == type(command).__name__ else ():
            if flag in values and rule.unused(command, flag):
                why, words = rule.why.format(command), flag.replace("_", " ")
                require(False, f"{words} is {values[flag]}, {why}; drop `{flag}=`")


def _flat(given: Mapping[str, Any]) -> Iterator[tuple[str, Any]]:
    for name, value in given.items():
        yield from _flat(value) if isinstance(value, dict) else [(name, value)]
