"""Figures of Algorithms 1 and 2 as data."""

from __future__ import annotations

import dataclasses

from anyorder.papers.two_can.dynamics import Trajectory
from anyorder.papers.two_can.dynamics.lengths import LengthSweep


@dataclasses.dataclass(frozen=True)
class OverSteps:
    """The steps of one run of Algorithm 1 or 2."""

    caption: str
    trajectory: Trajectory


@dataclasses.dataclass(frozen=True)
class OverLengths:
    """Algorithm 1 at several T, with fitted power laws."""

    caption: str
    sweep: LengthSweep
