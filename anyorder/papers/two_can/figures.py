"""Figures of Algorithms 1 and 2 as data."""

from __future__ import annotations

import dataclasses

from anyorder.papers.two_can import dynamics
from anyorder.papers.two_can.dynamics.lengths import LengthPoint


@dataclasses.dataclass(frozen=True)
class OverSteps:
    """The steps of one run of Algorithm 1 or 2."""

    caption: str
    trajectory: dynamics.Trajectory


@dataclasses.dataclass(frozen=True)
class OverLengths:
    """Algorithm 1 at several T, with fitted power laws."""

    caption: str
    sweep: dynamics.LengthSweep


#: Every class in the results of this paper that other papers do not have.
KINDS = (
    OverSteps, OverLengths, dynamics.Trajectory, dynamics.TwoStage, dynamics.Preconditioned, dynamics.Standings,
    dynamics.Standing, dynamics.LengthSweep, LengthPoint, dynamics.PowerLaw,
)  # fmt: skip
