"""How a run of a sweep ended, typed; in `runs.jsonl` it is one flat line."""

from __future__ import annotations

import dataclasses
from typing import Literal

from anyorder.files import Row

Ending = Literal["done", "diverged", "failed"]


@dataclasses.dataclass(frozen=True)
class RunMetrics:
    """The numbers of a run that is done; None where one is not finite, and of a floor that these chains do not have.

    Of the heads of the last layer the one with the most mass on the matches counts. `attention` is 0 where that head is
    uniform and 1 where all of it lies on the matching positions.
    """

    loss: float | None = None
    true_loss: float | None = None
    excess: float | None = None
    excess_error: float | None = None
    gap: float | None = None
    gap_error: float | None = None
    floor_excess: float | None = None
    training_loss: float | None = None
    matching_mass: float | None = None
    chance_mass: float | None = None
    attention: float | None = None
    distance: float | None = None
    beginning_mass: float | None = None
    first_layer_mass: float | None = None


#: What stands under each key of a line, if anything does.
KINDS: dict[str, type] = {"reason": str, "step": int} | {field.name: float for field in dataclasses.fields(RunMetrics)}


@dataclasses.dataclass(frozen=True)
class Ended:
    """Done with its numbers, diverged at a step, or failed; the last two for a reason."""

    outcome: Ending
    reason: str | None = None
    step: int | None = None
    measured: RunMetrics | None = None

    def as_json(self) -> Row:
        """Plain values, all on one level.

        >>> Ended("failed", "no memory").as_json()
        {'outcome': 'failed', 'reason': 'no memory'}
        """
        step = {} if self.step is None else {"step": self.step}
        numbers = {} if self.measured is None else dataclasses.asdict(self.measured)
        return {"outcome": self.outcome, "reason": self.reason, **step, **numbers}

    @classmethod
    def from_json(cls, plain: Row) -> Ended:
        """What `as_json` gave, back; further keys are left alone.

        >>> Ended.from_json({"outcome": "done", "gap": 0.1, "seed": 3}).measured.gap
        0.1
        """
        there = {field.name: plain.get(field.name) for field in dataclasses.fields(RunMetrics)}
        numbers = {name: None if value is None else float(value) for name, value in there.items()}
        measured = RunMetrics(**numbers) if plain["outcome"] == "done" else None
        return cls(plain["outcome"], plain.get("reason"), plain.get("step"), measured)


@dataclasses.dataclass(frozen=True)
class SweepRow:
    """One run of a sweep that has ended: its number, its values on the axes, its seed."""

    run: int
    values: dict[str, object]
    seed: int
    ended: Ended

    def as_json(self) -> Row:
        """The line of the table."""
        return {"run": self.run, **self.values, "seed": self.seed, **self.ended.as_json()}
