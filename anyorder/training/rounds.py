"""Rounds of steps: between two of them a run is measured, kept, reported and stopped."""

from __future__ import annotations

import time
from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
from jaxtyping import Float

from anyorder.training.engine import Placement

#: Steps between two reports of the loss.
ROUND = 100


class Round(NamedTuple):
    """Some steps of all models: the loss of each step, the models that diverged and where, and the time it took."""

    last: int
    losses: Float[np.ndarray, "models steps"]
    diverged: dict[int, int]
    seconds: float


def rounds(models: Placement, steps: int, first: int = 0, stops: tuple[int, ...] = ()) -> Iterator[Round]:
    """Take the steps from `first` on, in rounds that end at every multiple of `ROUND` and of the stops."""
    while first < steps:
        last = min(steps, *(first - first % length + length for length in (ROUND, *stops)))
        clock = time.perf_counter()
        losses, sound = models.run(first, last)
        diverged = {}
        for model, (curve, good) in enumerate(zip(losses, sound, strict=True)):
            wrong = np.flatnonzero(~np.isfinite(curve))
            if len(wrong) or not good:
                diverged[model] = first + int(wrong[0]) if len(wrong) else last - 1
        yield Round(last, losses, diverged, time.perf_counter() - clock)
        first = last
