"""What an entry of the ledger is: a statement of the paper, a function that measures it, and the verdict it comes to.

A verdict is never written down in an entry. A measuring function returns numbers, two comparisons made from
them (does it hold as printed, does it hold as mended), and the sentence that each answer would need.
"""

from __future__ import annotations

import dataclasses
import enum
from collections.abc import Callable, Mapping
from typing import Any, TypeAlias

#: What stands behind a verdict: measured numbers by name.
Numbers: TypeAlias = dict[str, Any]
#: Tables of an experiment: table name → rows, each a mapping from column to value.
Tables: TypeAlias = Mapping[str, list[dict[str, Any]]]


class Verdict(enum.StrEnum):
    """What a measurement can come to."""

    HOLDS = "holds"
    CORRECTED = "holds with a correction"
    FAILS = "fails"
    UNTESTABLE = "not testable"
    UNMEASURED = "not measured here"


@dataclasses.dataclass(frozen=True)
class Finding:
    """A verdict, the sentence that goes with it (which correction, how it fails, why not), and the numbers."""

    verdict: Verdict
    detail: str
    numbers: Numbers


def judge(
    numbers: Numbers, *, printed: Any, corrected: Any = False, note: str = "", correction: str = "", failure: str = ""
) -> Finding:
    """The verdict that two comparisons come to; each verdict has its own sentence.

    >>> judge({"error": 0.5}, printed=0.5 < 1e-9, corrected=True, correction="the sum starts at 1").verdict.value
    'holds with a correction'
    """
    if printed:
        return Finding(Verdict.HOLDS, note, numbers)
    if corrected:
        return Finding(Verdict.CORRECTED, correction, numbers)
    return Finding(Verdict.FAILS, failure, numbers)


def untestable(why: str, **numbers: Any) -> Finding:
    """No number can decide; those given are what can be said."""
    return Finding(Verdict.UNTESTABLE, why, numbers)


@dataclasses.dataclass(frozen=True)
class Claim:
    """One statement: a stable id, where it stands, what it says in our words, and how it is measured.

    `quick` entries decide in seconds. An entry with `experiments` is measured on the tables of these, one
    argument each, in the order named; the others take no argument.
    """

    id: str
    where: str
    says: str
    measure: Callable[..., Finding]
    quick: bool = True
    experiments: tuple[str, ...] = ()


def claim(
    id: str, where: str, says: str, *, quick: bool = True, experiments: tuple[str, ...] = ()
) -> Callable[[Callable[..., Finding]], Claim]:
    """Make an entry of the measuring function that it stands above.

    >>> @claim("one", "Sec. 1", "One is one.")
    ... def one() -> Finding:
    ...     return judge({"one": 1}, printed=True)
    >>> one.id, one.measure().verdict.value
    ('one', 'holds')
    """

    def entry(measure: Callable[..., Finding]) -> Claim:
        return Claim(id, where, says, measure, quick, experiments)

    return entry
