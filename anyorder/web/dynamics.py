"""Runs of Algorithm 1 and 2 as frames of an animation: fresh short ones, or a `trajectory.npz` that is stored."""

from __future__ import annotations

import math
import zipfile
from pathlib import Path

import numpy as np
from jaxtyping import Float, Int

from anyorder.chains import Floored, Reversible
from anyorder.dynamics import Preconditioned, TwoStage, preconditioned, two_stage
from anyorder.errors import InputError, require
from anyorder.web import limits
from anyorder.web.models import Library, fits
from anyorder.web.schema import DynamicsRequest, Film, FreshRun, Matrix, StoredRun
from anyorder.web.view import finite
from anyorder.web.work import Check

#: Learning rates that suit the lengths of short runs; those of the command.
RATE, PRECONDITIONED_RATE = 5000.0, 20000.0
#: Fresh chains a step.
BATCH = 64
_ARRAYS = ("p", "a_2", "excess", "attention", "true_loss", "floor", "stage_one_steps")


def film(asked: DynamicsRequest, library: Library, check: Check) -> Film:
    """The run that was asked for, as at most `MOST_FRAMES` frames."""
    return _fresh(asked.run, check) if isinstance(asked.run, FreshRun) else _stored(asked.run, library)


def _fresh(asked: FreshRun, check: Check) -> Film:
    require(
        asked.length > asked.order,
        f"length is {asked.length}, must be above the order {asked.order}; lengthen the sequences",
    )
    require(
        asked.algorithm == 2 or asked.order == 1,
        f"order is {asked.order}, Algorithm 1 is about order 1; choose Algorithm 2",
    )
    limits.at_most(
        limits.MOST_CONTEXTS,
        asked.alphabet_size**asked.order,
        "contexts",
        f"{asked.alphabet_size} symbols at order {asked.order} are {asked.alphabet_size**asked.order} contexts, "
        f"a short run takes {limits.MOST_CONTEXTS}; lower one of them",
    )

    def watch(*_: object) -> None:
        check()

    check()
    if asked.algorithm == 1:
        settings = TwoStage(
            rate=RATE, length=asked.length, steps=asked.steps, steps_2=asked.steps, batch=BATCH, seed=asked.seed
        )
        run = two_stage(Floored(1, asked.alphabet_size), settings, watch)
    else:
        other = Preconditioned(
            rate=PRECONDITIONED_RATE, length=asked.length, steps=asked.steps, batch=BATCH, seed=asked.seed
        )
        run = preconditioned(Reversible(asked.order, asked.alphabet_size), other, watch)
    standings = run.evaluation.standings
    return _frames(
        title=f"Algorithm {asked.algorithm}, order {asked.order}, S = {asked.alphabet_size}, T = {asked.length}",
        algorithm=asked.algorithm,
        order=asked.order,
        attention=run.attention,
        a_2=run.a_2,
        excess=run.excess,
        true_loss=run.true_loss,
        floor=None if run.floor is None else run.floor - run.true_loss,
        stage_one_steps=run.stage_one_steps,
        standings={name: standing.excess for name, standing in standings.items()},
    )


def _stored(asked: StoredRun, library: Library) -> Film:
    _, target = library.locate(asked.path)
    target = target / "trajectory.npz" if target.is_dir() else target
    fits(target)
    unreadable = f"{asked.path} is not a trajectory of anyorder dynamics; write it again"
    try:
        arrays = _read(target)
        attention, excess, a_2 = arrays["attention"], arrays["excess"], arrays["a_2"]
        shapes = attention.ndim == 2 and attention.shape == arrays["p"].shape and len(attention) >= 2
        whole = shapes and a_2.shape == attention.shape[:1] and excess.shape == (len(attention) - 1,)
        true_loss, floor, boundary = (float(arrays[name]) for name in ("true_loss", "floor", "stage_one_steps"))
        whole = whole and math.isfinite(true_loss) and boundary in range(len(attention))
    except limits.BeyondLimit:
        raise
    except (OSError, ValueError, KeyError, TypeError, zipfile.BadZipFile, EOFError):
        raise InputError(unreadable) from None
    require(whole, unreadable)
    return _frames(
        title=asked.path,
        algorithm=1 if boundary < len(excess) else 2,
        order=_order(arrays["p"][-1]),
        attention=attention,
        a_2=a_2,
        excess=excess,
        true_loss=true_loss,
        floor=finite(floor - true_loss),
        stage_one_steps=int(boundary),
        standings={},
    )


def _order(p: Float[np.ndarray, "offsets"]) -> int | None:
    """How many scalars from p_1 on are equal: the order, where steps were preconditioned; None if p did not move."""
    equal = np.isclose(p[1:], p[1], rtol=1e-9, atol=0)
    return None if equal.all() else int(np.argmin(equal))


def _read(target: Path) -> dict[str, np.ndarray]:
    """The arrays of a trajectory; a file that unpacks to more than the limit is not unpacked."""
    with zipfile.ZipFile(target) as archive:
        size = sum(entry.file_size for entry in archive.infolist())
        limits.at_most(
            limits.MOST_FILE, size, "bytes", f"the trajectory has {size} bytes, at most {limits.MOST_FILE} are read"
        )
    with np.load(target, allow_pickle=False) as stored:
        return {name: np.asarray(stored[name], np.float64) for name in _ARRAYS}


def _frames(
    *,
    title: str,
    algorithm: int,
    order: int | None,
    attention: Float[np.ndarray, "states offsets"],
    a_2: Float[np.ndarray, "states"],
    excess: Float[np.ndarray, "steps"],
    true_loss: float,
    floor: float | None,
    stage_one_steps: int,
    standings: dict[str, float],
) -> Film:
    shown = frames(len(attention), stage_one_steps)
    offsets = attention[:, : limits.MOST_OFFSETS]
    return Film(
        title=title,
        algorithm=algorithm,
        order=order,
        steps=shown.tolist(),
        stage_one_steps=stage_one_steps,
        attention=Matrix.of(offsets[shown]),
        a_2=[finite(value) for value in a_2[shown].tolist()],
        # The excess of step t is that of the state before it; the last state has none of its own.
        excess=[finite(value) for value in excess[np.minimum(shown, len(excess) - 1)].tolist()],
        true_loss=true_loss,
        floor_excess=floor,
        standings=standings,
    )


def frames(states: int, boundary: int) -> Int[np.ndarray, "frames"]:
    """Which states are shown: evenly spaced, with the first, the last and the end of stage one among them.

    >>> frames(5, 2).tolist(), len(frames(10_000, 50)) <= limits.MOST_FRAMES + 1
    ([0, 1, 2, 3, 4], True)
    """
    even = np.linspace(0, states - 1, min(states, limits.MOST_FRAMES)).round().astype(int)
    return np.unique(np.append(even, min(max(boundary, 0), states - 1)))
