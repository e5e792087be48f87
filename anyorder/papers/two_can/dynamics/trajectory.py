"""The trajectory of a run: parameters at every step, the loss next to L* and the floor, and its `.npz` file."""

from __future__ import annotations

import dataclasses
import json
from pathlib import Path

import numpy as np
from jaxtyping import Float
from scipy.special import softmax

from anyorder.errors import require
from anyorder.io.archives import read_npz
from anyorder.io.atomic import whole_file
from anyorder.io.gates import gated
from anyorder.io.trees import described, rebuilt
from anyorder.papers.two_can.dynamics.objective import Standing, Standings
from anyorder.papers.two_can.dynamics.settings import Algorithm, Preconditioned, TwoStage


@dataclasses.dataclass(frozen=True)
class Trajectory:
    """A run of either algorithm; state t precedes step t + 1, so that there is one more state than steps.

    `excess` is that of each step's fresh batch over the entropy of its own kernels: the noise of L* cancels.
    `evaluation` has the last state on other chains, next to the k-gram, the bag of k and Bayes.
    """

    settings: TwoStage | Preconditioned
    order: int
    alphabet_size: int
    p: Float[np.ndarray, "states offsets"]
    a_2: Float[np.ndarray, "states"]
    excess: Float[np.ndarray, "steps"]
    gradient: Float[np.ndarray, "stage_one_steps offsets"]
    """dL/dp at every step of stage one."""
    normalise: bool
    evaluation: Standings

    def __repr__(self) -> str:
        chains = f"order {self.order} over {self.alphabet_size} symbols"
        return f"Trajectory({self.algorithm}, {chains}, {len(self.excess)} steps, a_2 {self.a_2[-1]:.3g})"

    @property
    def algorithm(self) -> Algorithm:
        """The algorithm of these settings."""
        return "two-stage" if isinstance(self.settings, TwoStage) else "preconditioned"

    @property
    def stage_one_steps(self) -> int:
        """The steps on p, which come first."""
        return self.settings.steps

    @property
    def true_loss(self) -> float:
        """L*: the mean entropy of rows of the prior's kernels."""
        return self.evaluation.true_loss

    @property
    def loss(self) -> Float[np.ndarray, "steps"]:
        """The loss of each step's batch: L* plus the excess."""
        return self.true_loss + self.excess

    @property
    def floor(self) -> float | None:
        """The loss of the Bayes predictor on the evaluation chains, where it is known."""
        bayes = self.evaluation.standings.get("Bayes")
        return None if bayes is None else self.true_loss + bayes.excess

    @property
    def attention(self) -> Float[np.ndarray, "states offsets"]:
        """softmax(p): the first layer's attention by offset from the last position, at every state."""
        return softmax(self.p, axis=1)

    @property
    def leads(self) -> bool:
        """Whether p_1 = … = p_k are above all other scalars after every step of stage one."""
        first, inside = self.p[1 : self.stage_one_steps + 1], range(1, self.order + 1)
        return bool((first[:, inside].min(axis=1) > np.delete(first, inside, axis=1).max(axis=1)).all())

    @property
    def spread(self) -> float:
        """Largest |p_m - p_1| over m = 1 … k and all states, relative to the largest |p_1|."""
        inside = self.p[:, 1 : self.order + 1]
        return float(np.abs(inside - inside[:, :1]).max() / max(1.0, np.abs(inside[:, 0]).max()))


@gated
def write_trajectory(trajectory: Trajectory, path: str | Path) -> None:
    """Write a run as `.npz`, atomically and without pickle.

    `record` describes how to rebuild the run from the arrays; derived quantities are also stored by name.
    """
    plain, arrays = described(trajectory)
    names = ("loss", "attention", "true_loss", "algorithm", "order", "stage_one_steps")
    shown = {name: getattr(trajectory, name) for name in names}
    shown["floor"] = np.nan if trajectory.floor is None else trajectory.floor
    with whole_file(path) as temporary, temporary.open("wb") as stream:
        np.savez_compressed(stream, allow_pickle=False, record=json.dumps(plain), **shown, **arrays)


@gated
def read_trajectory(path: str | Path) -> Trajectory:
    """Read a run written by `write_trajectory`, or raise a one-line `InputError`."""
    stored, _ = read_npz(path, "a trajectory of anyorder dynamics")
    try:
        kinds = (Trajectory, Standings, Standing, TwoStage, Preconditioned)
        run = rebuilt(json.loads(str(stored["record"])), stored, kinds)
        states, offsets = run.p.shape
        whole = states >= 2 and run.a_2.shape == (states,) and run.excess.shape == (states - 1,)
        whole = whole and 0 <= run.stage_one_steps < states and 1 <= run.order < offsets
        whole = whole and bool(np.isfinite(run.true_loss)) and isinstance(run.settings, TwoStage | Preconditioned)
    except Exception:  # a stranger's file may contain anything
        whole = False
    require(whole, f"{path} is not a trajectory of anyorder dynamics; write it again")
    return run
