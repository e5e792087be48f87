"""Algorithm 1 at many lengths T: decay of excess loss and generalisation error, with fitted power laws.

Figures of single runs and of several lengths are defined here too.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from jaxtyping import Float

from anyorder.chains import Prior
from anyorder.errors import require
from anyorder.io.gates import gated
from anyorder.papers.figure_data import Chart, Plot, Series, level
from anyorder.papers.two_can.dynamics.algorithms import RunWatcher, two_stage
from anyorder.papers.two_can.dynamics.objective import Standing
from anyorder.papers.two_can.dynamics.reduced import EXCLUDED
from anyorder.papers.two_can.dynamics.settings import TwoStage
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

    try:
        points = np.array([x, y], dtype=np.float64)
    except (TypeError, ValueError, OverflowError):
        points = np.zeros(0)
    require(points.ndim == 2, "x and y are not two lists of numbers of one length; give such lists")
    different = len(np.unique(points[0]))
    require(different >= 2, f"{different} different x, a power law needs at least 2")
    require(bool((points > 0).all() and np.isfinite(points).all()), "a power law needs positive, finite values")
    line = linregress(*np.log(points))
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


@gated
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


def over_steps(caption: str, run: Trajectory) -> Plot:
    """A run over its steps: positional scalars, a_2 where it is learned, and the loss next to L* and to predictors."""
    states, inside, ends = np.arange(len(run.p)), range(1, run.order + 1), (0, len(run.excess))
    others = np.delete(run.p, [*inside, *np.flatnonzero(run.p[0] < EXCLUDED / 2)], axis=1)
    low, high = others.min(axis=1), others.max(axis=1)
    scalars = [Series("all others", states, (low + high) / 2, (high - low) / 2, "-", "0.5")]
    scalars += [Series(f"$p_{{{m}}}$", states, run.p[:, m], style="-", colour=m - 1) for m in inside]
    losses = [Series("loss", states[1:], run.loss, style="-", colour=0), level("$L^*$", ends, run.true_loss)]
    if run.floor is not None:
        losses.append(level("Bayes floor", ends, run.floor, "--", "black"))
    drawn = [name for name in run.evaluation.standings if name not in ("learned", "Bayes")]
    for colour, name in enumerate(drawn, start=1):
        losses.append(level(name, ends, run.true_loss + run.evaluation.standings[name].excess, "-.", colour))
    panels = {"positional scalars": scalars, "loss (nats)": losses}
    if learned := bool(np.ptp(run.a_2) > 0):
        scale = [Series("", states, run.a_2, style="-", colour=0)]
        panels = {"positional scalars": scalars, "$a_2$": scale, "loss (nats)": losses}
    across = "step (the line divides the stages)" if learned else "step"
    mark = run.stage_one_steps if learned else None
    charts = [Chart(across, name, lines, mark=mark) for name, lines in panels.items()]
    return Plot(caption, charts, width=4.6, height=2.2, across=1)


def over_lengths(caption: str, sweep: LengthSweep) -> Plot:
    """Excess loss and sup-norm error against T + 1, with the fitted power laws, the k-gram and the Bayes floor."""
    points, across, charts = sweep.points, [point.length + 1 for point in sweep.points], []
    for measured, label in (("excess", "excess loss (nats)"), ("generalisation", "mean sup-norm error")):
        law = getattr(sweep, measured)
        learned, kgram = ([getattr(getattr(one, who), measured) for one in points] for who in ("learned", "kgram"))
        floors = [getattr(one.bayes, measured) for one in points if one.bayes is not None]
        errors = [2 * getattr(one.learned, f"{measured}_error") for one in points]
        lines = [
            Series("learned", across, learned, errors, "o", 0),
            Series("power law", across, [law.factor * place**law.exponent for place in across], style="-", colour=0),
            Series("k-gram", across, kgram, style="s-.", colour=1),
        ]
        if len(floors) == len(across):
            lines.append(Series("Bayes floor", across, floors, style="--", colour="black"))
        title = f"$(T + 1)^{{{law.exponent:.2f} \\pm {law.standard_error:.2f}}}$"
        charts.append(Chart("T + 1", label, lines, title, log="xy"))
    return Plot(caption, charts, height=3.4)
