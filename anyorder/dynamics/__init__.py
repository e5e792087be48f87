"""Gradient descent on the reduced models of App. C and D: Algorithms 1 and 2, and joint training."""

from anyorder import numerics as numerics
from anyorder.dynamics.algorithms import (
    Agreement,
    Preconditioned,
    StepWatcher,
    TwoStage,
    agreement,
    preconditioned,
    two_stage,
)
from anyorder.dynamics.closed_form import lag_scores, lag_scores_of, pair_distribution, stage_one_gradient
from anyorder.dynamics.joint import JointRuns, JointTraining, LimitDistances, limit, train_jointly
from anyorder.dynamics.lengths import LengthSweep, PowerLaw, power_law, sweep_lengths
from anyorder.dynamics.objective import Standing, Standings, evaluate
from anyorder.dynamics.reduced import Reduced, as_transformer, coded, initial
from anyorder.dynamics.trajectory import Trajectory, read_trajectory, write_trajectory

__all__ = [
    "Agreement",
    "JointRuns",
    "JointTraining",
    "LengthSweep",
    "LimitDistances",
    "PowerLaw",
    "Preconditioned",
    "Reduced",
    "Standing",
    "Standings",
    "StepWatcher",
    "Trajectory",
    "TwoStage",
    "agreement",
    "as_transformer",
    "coded",
    "evaluate",
    "initial",
    "lag_scores",
    "lag_scores_of",
    "limit",
    "pair_distribution",
    "power_law",
    "preconditioned",
    "read_trajectory",
    "stage_one_gradient",
    "sweep_lengths",
    "train_jointly",
    "two_stage",
    "write_trajectory",
]
