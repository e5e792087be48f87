"""How a run of a sweep ended, typed; in `runs.jsonl` it is one flat line."""

from __future__ import annotations

import dataclasses
from typing import Literal

from anyorder.files import Row

Ending = Literal["done", "diverged", "failed"]


@dataclasses.dataclass(frozen=True)
class Ended:
    """Done with its numbers, diverged at a step, or failed; the last two for a reason, and without numbers.

    A number is None where it is not finite, and that of a floor where these chains have none. Of the heads of the last
    layer the one with the most mass on the matches counts. `attention` is 0 where that head is uniform and 1 where all
    of it lies on the matching positions.
    """

    outcome: Ending
    reason: str | None = None
    step: int | None = None
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

    def as_json(self) -> Row:
        """Plain values; of a run that is not done only those that there are.

        >>> Ended("failed", "no memory").as_json()
        {'outcome': 'failed', 'reason': 'no memory'}
        """
        done = self.outcome == "done"
        return {name: value for name, value in vars(self).items() if done or value is not None or name == "reason"}

    @classmethod
    def from_json(cls, plain: Row) -> Ended:
        """What `as_json` gave, back; further keys are left alone."""
        return cls(**{name: kind(plain[name]) for name, kind in KINDS.items() if plain.get(name) is not None})


#: What stands under each key of a line, if anything does.
KINDS: dict[str, type] = dict.fromkeys((field.name for field in dataclasses.fields(Ended)), float) | {
    "outcome": str,
    "reason": str,
    "step": int,
}


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
