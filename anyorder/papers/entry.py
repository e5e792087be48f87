"""Entries of the ledger: a statement of the paper, a function that measures it, and the resulting verdict.

A verdict is never written down in an entry. A measuring function returns numbers, two comparisons made from
them (does it hold as printed, does it hold as corrected), and the sentence that each answer would need.
"""

from __future__ import annotations

import dataclasses
import enum
import functools
import inspect
from collections.abc import Callable, Mapping, Sequence
from typing import TypeAlias

import numpy as np

Value: TypeAlias = bool | int | float | str | np.generic | None
#: A measurement under one name: a value, several, a table of them, or one for each case.
Measure: TypeAlias = Value | np.ndarray | Sequence[Value | Sequence[Value]] | Mapping[str, Value | Sequence[Value]]
#: The numbers behind a verdict.
Numbers: TypeAlias = dict[str, Measure]

#: A number on record is met where the difference is at most this share of it, unless its entry says otherwise.
TOLERANCE = 1e-3
#: Smaller differences are rounding, whatever the number.
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
    """A verdict, the sentence that goes with it (which correction, how it fails, why not), and the numbers.

    The runner adds the CPU seconds that it took. A finding of every claim is on record.
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
    note: str = "",
    correction: str = "",
    difference: str = "",
    failure: str = "measured otherwise",
) -> Finding:
    """The verdict that the comparisons come to; each verdict has its own sentence.

    `corrected` says whether the statement holds once an error of the paper is put right, `trend` whether a
    reproduction shows the printed trend with other values. `decisive` says whether the measurement could have
    refuted the statement: if not, agreement is no more than "consistent with". `vacuous` says why no case meets the
    assumption, and is empty where one does. `failure` is for entries that can say more than that the statement is
    not so.

    >>> judge({"error": 0.5}, printed=0.5 < 1e-9, corrected=True, correction="the sum starts at 1").verdict.value
    'holds with a correction'
    >>> judge({"exponent": -0.9}, printed=True, decisive=False, note="no constant is named").verdict.value
    'consistent with'
    """
    if vacuous:
        return Finding(Verdict.VACUOUS, vacuous, numbers)
    if printed:
        return Finding(Verdict.HOLDS if decisive else Verdict.CONSISTENT, note, numbers)
    if corrected:
        return Finding(Verdict.CORRECTED, correction, numbers)
    if trend:
        return Finding(Verdict.TREND, difference, numbers)
    return Finding(Verdict.FAILS, failure, numbers)


@dataclasses.dataclass(frozen=True)
class Claim:
    """One statement: where it stands, what it says in our words, how it is measured, and a stable id.

    The id is the name of the entry in its module, with hyphens; the registry gives it. `quick` entries decide in
    seconds. `see` names entries about the same fact: one of the two names the other, the registry adds the reverse.
    `tolerances` are the numbers that may differ from the record by more than `TOLERANCE`, as a share of them; `*`
    stands for all others.
    """

    where: str
    says: str
    measure: Callable[..., Finding]
    quick: bool
    see: tuple[str, ...]
    tolerances: Mapping[str, float]
    id: str = ""

    @property
    def experiments(self) -> tuple[str, ...]:
        """The experiments on whose tables it is measured: `measure` has an argument of the name of each."""
        arguments = inspect.signature(self.measure).parameters.values()
        return tuple(one.name.replace("_", "-") for one in arguments if one.default is one.empty)


def claim(
    where: str,
    says: str,
    *,
    quick: bool = True,
    see: tuple[str, ...] = (),
    tolerances: Mapping[str, float] | None = None,
) -> Callable[[Callable[..., Finding]], Claim]:
    """Make an entry of the measuring function that it stands above.

    >>> @claim("Sec. 1", "One is one.")
    ... def eq_one() -> Finding:
    ...     return judge({"one": 1}, printed=True)
    >>> eq_one.says, eq_one.measure().verdict.value
    ('One is one.', 'holds')
    """
    return functools.partial(Claim, where, says, quick=quick, see=see, tolerances=tolerances or {})


#: The same for what does not decide in seconds.
slow_claim = functools.partial(claim, quick=False)


def shown(value: Measure) -> str:
    """A number, or a list of them, for people: four significant digits.

    >>> shown([0.123456, 2, "a"]), shown(1.5e-9)
    ('0.1235, 2, a', '1.5e-09')
    """
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, float):
        return f"{value:.4g}"
    if isinstance(value, Mapping):
        return ", ".join(f"{name} {shown(entry)}" for name, entry in value.items())
    if isinstance(value, list | tuple):
        nested = any(isinstance(entry, list | tuple) for entry in value)
        return ", ".join(f"({shown(entry)})" if nested else shown(entry) for entry in value) or "none"
    return "–" if value is None else str(value)
