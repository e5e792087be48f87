"""Gradient descent on the reduced models of App. C and D, and the lemmas behind it as measurements."""

from anyorder import numerics as numerics
from anyorder.dynamics.algorithms import Agreement, Preconditioned, TwoStage, agreement, preconditioned, two_stage
from anyorder.dynamics.beyond import Continuation, Limit, Search, limit, search
from anyorder.dynamics.closed_form import expected_lag_scores, lag_scores, pair_distribution, stage_one_gradient
from anyorder.dynamics.conditions import conditions
from anyorder.dynamics.fit import PowerLaw, power_law
from anyorder.dynamics.lemmas import (
    Measured,
    covariance_decay,
    frequency_variance,
    previous_token_gap,
    second_order_decay,
    spectral_decay,
)
from anyorder.dynamics.objective import Evaluation, Standing, evaluate
from anyorder.dynamics.reduced import Reduced, as_transformer, coded, initial
from anyorder.dynamics.stage_lemmas import (
    convergence_time,
    frequency_ratio,
    linearisation,
    row_gap,
    stage_two_slope,
)
from anyorder.dynamics.sweep import Sweep, sweep
from anyorder.dynamics.trajectory import Trajectory, write_trajectory

__all__ = [
    "Agreement",
    "Continuation",
    "Evaluation",
    "Limit",
    "Measured",
    "PowerLaw",
    "Preconditioned",
    "Reduced",
    "Search",
    "Standing",
    "Sweep",
    "Trajectory",
    "TwoStage",
    "agreement",
    "as_transformer",
    "coded",
    "conditions",
    "convergence_time",
    "covariance_decay",
    "evaluate",
    "expected_lag_scores",
    "frequency_ratio",
    "frequency_variance",
    "initial",
    "lag_scores",
    "limit",
    "linearisation",
    "pair_distribution",
    "power_law",
    "preconditioned",
    "previous_token_gap",
    "row_gap",
    "search",
    "second_order_decay",
    "spectral_decay",
    "stage_one_gradient",
    "stage_two_slope",
    "sweep",
    "two_stage",
    "write_trajectory",
]
