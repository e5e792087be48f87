"""The runner: measure claims one after the other and hold their verdicts against those on record."""

from __future__ import annotations

import dataclasses
import time
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from anyorder.claims.entry import Claim, Finding, Tables, Verdict


@dataclasses.dataclass(frozen=True)
class Checked:
    """A claim, what was found now, what is on record, and what it cost in CPU seconds.

    `recorded` is None for a claim without a record. A claim that was not measured, now or when the record was
    made, contradicts nothing.
    """

    claim: Claim
    finding: Finding
    recorded: Verdict | None
    seconds: float

    @property
    def agrees(self) -> bool:
        """Whether the verdict is the one on record."""
        unmeasured = Verdict.UNMEASURED in (self.finding.verdict, self.recorded)
        return unmeasured or self.finding.verdict == self.recorded

    def as_dict(self) -> dict[str, Any]:
        """For JSON."""
        return {
            "id": self.claim.id,
            "where": self.claim.where,
            "claim": self.claim.says,
            "verdict": self.finding.verdict.value,
            "detail": self.finding.detail,
            "numbers": self.finding.numbers,
            "recorded": None if self.recorded is None else self.recorded.value,
            "agrees": self.agrees,
            "seconds": round(self.seconds, 2),
        }


def check(
    claims: Iterable[Claim],
    records: Mapping[str, Mapping[str, Any]],
    *,
    results: Mapping[str, Tables] | None = None,
    watch: Callable[[Claim], None] = lambda claim: None,
) -> list[Checked]:
    """Measure claims; `results` has the tables of experiments by their id, `watch` hears of each before it starts.

    >>> from anyorder.claims.registry import find, recorded
    >>> [entry.agrees for entry in check(find(["eq-score"]), recorded())]
    [True]
    """
    checked = []
    for claim in claims:
        watch(claim)
        start = time.process_time()
        finding = _measure(claim, results or {})
        record = records.get(claim.id)
        before = None if record is None else Verdict(record["verdict"])
        checked.append(Checked(claim, finding, before, time.process_time() - start))
    return checked


def _measure(claim: Claim, results: Mapping[str, Tables]) -> Finding:
    missing = [name for name in claim.experiments if name not in results]
    if missing:
        commands = " and ".join(f"`anyorder reproduce {name} --out DIR`" for name in missing)
        return Finding(Verdict.UNMEASURED, f"{commands} fills it, then pass --results DIR", {})
    finding = claim.measure(*(results[name] for name in claim.experiments))
    return dataclasses.replace(finding, numbers={key: _plain(value) for key, value in finding.numbers.items()})


def _plain(value: Any) -> Any:
    """Numbers of NumPy as those of Python."""
    if isinstance(value, list | tuple):
        return [_plain(entry) for entry in value]
    return value.item() if hasattr(value, "item") else value
