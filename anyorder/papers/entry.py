"""Entries of the ledger: a statement of the paper, a function that measures it, and the resulting verdict.

An entry never stores a verdict. Its measuring function returns numbers, compares them with the statement as printed
and as corrected, and gives one sentence for each possible outcome.
"""

from __future__ import annotations

import dataclasses
import enum
import functools
import inspect
from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeAlias

import numpy as np

Value: TypeAlias = bool | int | float | str | np.generic | None
#: One named measurement: a value, a list, a table, or one value for each case.
Measure: TypeAlias = Value | np.ndarray | Sequence[Value | Sequence[Value]] | Mapping[str, Value | Sequence[Value]]
#: The numbers behind a verdict.
Numbers: TypeAlias = dict[str, Measure]

#: Default relative tolerance of a number against the record.
TOLERANCE = 1e-3
#: Least number of seeds for a verdict on a statement about seeds.
SEEDS = 5
#: Absolute differences below this are rounding.
ROUNDING = 1e-6


class Verdict(enum.StrEnum):
    """The possible outcomes of a measurement."""

    HOLDS = "holds"
    CONSISTENT = "consistent with"
    CORRECTED = "holds with a correction"
    TREND = "trend holds, values differ"
    FAILS = "fails"
    VACUOUS = "vacuous"
    UNTESTABLE = "not testable"
    UNMEASURED = "not measured here"


@dataclasses.dataclass(frozen=True)
class Finding:
    """A verdict, the sentence that explains it (the correction, or how it fails), and the numbers.

    `check` adds the CPU seconds of the measurement. The record has one finding for each claim.
    """

    verdict: Verdict
    detail: str
    numbers: Mapping[str, Measure]
    seconds: float = 0.0


def judge(
    numbers: Mapping[str, Measure],
    *,
    printed: bool | np.bool_,
    corrected: bool | np.bool_ = False,
    trend: bool | np.bool_ = False,
    decisive: bool = True,
    vacuous: str = "",
    unmeasured: str = "",
    note: str = "",
    correction: str = "",
    difference: str = "",
    failure: str = "measured otherwise",
    refutation: str = "",
) -> Finding:
    """The finding that follows from the comparisons: verdict, sentence and numbers.

    corrected: whether the statement holds after an error of the paper is corrected.
    trend: whether a reproduction shows the printed trend with other values.
    decisive: whether the measurement could have refuted the statement; if not, agreement is "consistent with".
    vacuous: the reason why no case meets the assumption; empty if some case does.
    unmeasured: the reason why the results are insufficient, too few seeds or a missing cell; empty if they suffice.
    note, correction, difference, failure: the sentences for HOLDS, CORRECTED, TREND and FAILS.
    refutation: the condition that refutes the statement; added to the sentence of every verdict.

    >>> judge({"error": 0.5}, printed=0.5 < 1e-9, corrected=True, correction="the sum starts at 1").verdict.value
    'holds with a correction'
    >>> judge({"exponent": -0.9}, printed=True, decisive=False, note="no constant is specified").verdict.value
    'consistent with'
    """
    if vacuous:
        verdict, sentence = Verdict.VACUOUS, vacuous
    elif unmeasured:
        verdict, sentence = Verdict.UNMEASURED, unmeasured
    elif printed:
        verdict, sentence = Verdict.HOLDS if decisive else Verdict.CONSISTENT, note
    elif corrected:
        verdict, sentence = Verdict.CORRECTED, correction
    elif trend:
        verdict, sentence = Verdict.TREND, difference
    else:
        verdict, sentence = Verdict.FAILS, failure
    return Finding(verdict, "; ".join(filter(None, (sentence, refutation))), numbers)


def too_few(seeds: int) -> str:
    """The reason why there are too few seeds for a verdict; empty if there are enough.

    >>> too_few(3), too_few(5)
    ('3 seeds, the rules require 5', '')
    """
    return "" if seeds >= SEEDS else f"{seeds} seeds, the rules require {SEEDS}"


@dataclasses.dataclass(frozen=True)
class Claim:
    """One statement: its place in the paper, its content in our words, its measurement, and a stable id.

    id: the name of the entry in its module, with hyphens; set by the ledger.
    quick: whether the measurement takes seconds.
    see: entries about the same fact; the ledger adds the reverse links.
    tolerances: relative tolerances other than `TOLERANCE`, by number; `*` is for all other numbers.
    """

    where: str
    says: str
    measure: Callable[..., Finding]
    quick: bool = True
    see: tuple[str, ...] = ()
    tolerances: Mapping[str, float] = dataclasses.field(default_factory=dict)
    id: str = ""

    @property
    def experiments(self) -> tuple[str, ...]:
        """The experiments whose tables it reads: the required arguments of `measure`."""
        arguments = inspect.signature(self.measure).parameters.values()
        return tuple(one.name.replace("_", "-") for one in arguments if one.default is one.empty)


def claim(where: str, says: str, **about: Any) -> Callable[[Callable[..., Finding]], Claim]:
    """Decorator that turns a measuring function into an entry; the keywords are fields of `Claim`.

    >>> @claim("Sec. 1", "One is one.")
    ... def eq_one() -> Finding:
    ...     return judge({"one": 1}, printed=True)
    >>> eq_one.says, eq_one.measure().verdict.value
    ('One is one.', 'holds')
    """
    return functools.partial(Claim, where, says, **about)


#: `claim` for measurements that take longer.
slow_claim = functools.partial(claim, quick=False)


def shown(value: Measure, digits: int = 4) -> str:
    """A measurement as text, with four significant digits or a number of your choice.

    >>> shown([0.123456, 2, "a"]), shown({"error": 1.5e-9, "bits": 32767.0}, 3)
    ('0.1235, 2, a', 'error 1.5e-09, bits 32767')
    """
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, float):
        return f"{value:.{digits}g}" if not 1000 <= abs(value) < 1e7 else f"{value:.0f}"
    if isinstance(value, Mapping):
        entries = {name: shown(entry, digits) for name, entry in value.items()}
        return ", ".join(f"{name} ({entry})" if ", " in entry else f"{name} {entry}" for name, entry in entries.items())
    if isinstance(value, list | tuple):
        nested = any(isinstance(entry, list | tuple) for entry in value)
        return ", ".join(f"({shown(entry, digits)})" if nested else shown(entry, digits) for entry in value) or "none"
    return "–" if value is None else str(value)
