"""Algorithm 1 at many lengths T: decay of excess loss and generalisation error, with fitted power laws.

Figures of single runs and of several lengths, as data, are defined here too.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from jaxtyping import Float

from anyorder.chains import Prior
from anyorder.errors import require
from anyorder.papers.two_can.dynamics.algorithms import RunWatcher, two_stage
from anyorder.papers.two_can.dynamics.objective import Standing, Standings
from anyorder.papers.two_can.dynamics.settings import Preconditioned, TwoStage
from anyorder.papers.two_can.dynamics.trajectory import Trajectory


class PowerLaw(NamedTuple):
    """y = factor · x^exponent, fitted to logarithms; the error is that of least squares, NaN for two points."""

    exponent: float
    standard_error: float
    factor: float


def power_law(x: Sequence[int] | Sequence[float], y: Sequence[float] | Float[np.ndarray, "points"]) -> PowerLaw:
    """Least squares of log y on log x.

    >>> power_law([1, 2, 4], [3.0, 6.0, 12.0]).exponent.__round__(9)
    1.0
    """
    from scipy.stats import linregress  # takes a second to import

    require(len(x) >= 2 and len(set(x)) >= 2, f"{len(set(x))} different x, a power law needs at least 2")
    require(bool((np.asarray(y) > 0).all()), "a power law needs positive values")
    line = linregress(np.log(x), np.log(y))
    error = float(line.stderr) if len(x) > 2 else float("nan")
    return PowerLaw(float(line.slope), error, float(np.exp(line.intercept)))


class LengthPoint(NamedTuple):
    """One length: the end of the run, next to the k-gram and the Bayes predictor on the same chains."""

    length: int
    attention: float
    """softmax(p)_1 at the end of stage one."""
    a_2: float
    learned: Standing
    kgram: Standing
    bayes: Standing | None


class LengthSweep(NamedTuple):
    """All lengths, and power laws in T + 1 through them."""

    points: tuple[LengthPoint, ...]
    excess: PowerLaw
    generalisation: PowerLaw
    floor: PowerLaw | None


def sweep_lengths(
    prior: Prior,
    settings: TwoStage | None = None,
    lengths: Sequence[int] = (32, 64, 128, 256, 512, 1024),
    watch: RunWatcher = lambda done, runs: None,
) -> LengthSweep:
    """Run Algorithm 1 at each length.

    The closed form drives stage one, which then does not depend on a batch. Above T = 128 the batch shrinks with T:
    the tokens per step, and roughly the noise, stay the same.
    """
    settings = settings or TwoStage()
    require(len(set(lengths)) >= 3, f"{len(set(lengths))} lengths, an exponent with an error needs at least 3")
    points = []
    for done, length in enumerate(lengths):
        watch(done, len(lengths))
        batch = max(8, settings.batch * 128 // max(length, 128))
        changed = dataclasses.replace(settings, length=length, batch=batch, gradient="closed")
        run = two_stage(prior, changed)
        standings = run.evaluation.standings
        points.append(
            LengthPoint(
                length,
                float(run.attention[run.stage_one_steps, 1]),
                float(run.a_2[-1]),
                standings["learned"],
                standings["k-gram"],
                standings.get("Bayes"),
            )
        )
    across = [point.length + 1 for point in points]
    floors = [point.bayes.excess for point in points if point.bayes is not None and point.bayes.excess > 0]
    return LengthSweep(
        tuple(points),
        power_law(across, [point.learned.excess for point in points]),
        power_law(across, [point.learned.generalisation for point in points]),
        power_law(across, floors) if len(floors) == len(points) else None,
    )


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


#: The classes that occur only in the results of this paper.
KINDS = (
    OverSteps, OverLengths, Trajectory, TwoStage, Preconditioned, Standings,
    Standing, LengthSweep, LengthPoint, PowerLaw,
)  # fmt: skip
