"""Runs of Algorithms 1 and 2 as frames of an animation: fresh short runs, or a stored `trajectory.npz`."""

from __future__ import annotations

from typing import Any

import numpy as np
from jaxtyping import Int

from anyorder.chains import Floored, Reversible
from anyorder.errors import InputError, check_order, require
from anyorder.io.archives import read_npz
from anyorder.papers.two_can.dynamics import (
    Preconditioned,
    Trajectory,
    TwoStage,
    preconditioned,
    read_trajectory,
    two_stage,
)
from anyorder.web import limits
from anyorder.web.jobs import CheckCancelled
from anyorder.web.library import Library, fits
from anyorder.web.schema import DynamicsRequest, Film, FreshRun, Matrix, StoredRun

#: Fresh chains per step.
BATCH = 64


def film(asked: DynamicsRequest, library: Library, check: CheckCancelled) -> Film:
    """The requested run, as at most `MOST_FRAMES` frames."""
    return _fresh(asked.run, check) if isinstance(asked.run, FreshRun) else _stored(asked.run, library)


def _fresh(asked: FreshRun, check: CheckCancelled) -> Film:
    check_order(asked.order, asked.length)
    require(
        asked.algorithm == 2 or asked.order == 1,
        f"order is {asked.order}, Algorithm 1 applies to order 1; choose Algorithm 2",
    )
    limits.at_most(
        limits.MOST_CONTEXTS,
        asked.alphabet_size**asked.order,
        "contexts",
        f"{asked.alphabet_size} symbols at order {asked.order} are {asked.alphabet_size**asked.order} contexts, "
        f"a short run takes at most {limits.MOST_CONTEXTS}; lower one of them",
    )

    def watch(*_: object) -> None:
        check()

    check()
    shared: dict[str, Any] = {"length": asked.length, "steps": asked.steps, "batch": BATCH, "seed": asked.seed}
    if asked.algorithm == 1:
        settings = TwoStage(**shared, steps_2=asked.steps)
        run = two_stage(Floored(1, asked.alphabet_size), settings, watch)
    else:
        run = preconditioned(Reversible(asked.order, asked.alphabet_size), Preconditioned(**shared), watch)
    return _frames(
        run, f"Algorithm {asked.algorithm}, order {asked.order}, S = {asked.alphabet_size}, T = {asked.length}"
    )


def _stored(asked: StoredRun, library: Library) -> Film:
    _, target = library.locate(asked.path)
    target = target / "trajectory.npz" if target.is_dir() else target
    fits(target)
    try:
        _, size = read_npz(target, "a trajectory", names=())  # as stated, which `zipfile` never exceeds
        limits.at_most(
            limits.MOST_FILE, size, "bytes", f"the trajectory has {size} bytes, at most {limits.MOST_FILE} are read"
        )
        return _frames(read_trajectory(target), asked.path)
    except limits.BeyondLimit:
        raise
    except InputError:
        raise InputError(f"{asked.path} is not a trajectory of anyorder dynamics; write it again") from None


def _frames(run: Trajectory, title: str) -> Film:
    shown = frames(len(run.p), run.stage_one_steps)
    return Film(
        title=title,
        algorithm=1 if run.algorithm == "two-stage" else 2,
        order=run.order,
        steps=shown.tolist(),
        stage_one_steps=run.stage_one_steps,
        attention=Matrix.of(run.attention[shown, : limits.MOST_OFFSETS]),
        a_2=run.a_2[shown].tolist(),
        # The excess of step t belongs to the state before it; the last state has no excess.
        excess=run.excess[np.minimum(shown, len(run.excess) - 1)].tolist(),
        true_loss=run.true_loss,
        floor_excess=None if run.floor is None else run.floor - run.true_loss,
        standings={name: standing.excess for name, standing in run.evaluation.standings.items()},
    )


def frames(states: int, boundary: int) -> Int[np.ndarray, "frames"]:
    """The states to show: evenly spaced, with the first, the last and the end of stage one among them.

    >>> frames(5, 2).tolist(), len(frames(10_000, 50)) <= limits.MOST_FRAMES + 1
    ([0, 1, 2, 3, 4], True)
    """
    even = np.linspace(0, states - 1, min(states, limits.MOST_FRAMES)).round().astype(int)
    return np.unique(np.append(even, min(max(boundary, 0), states - 1)))
