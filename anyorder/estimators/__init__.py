"""Estimators: exact in-context predictors, the ground truth that everything is judged by."""

from typing import TYPE_CHECKING, Any

from anyorder import numerics as numerics
from anyorder.estimators.counting import add_beta, add_beta_bag, backoff, bag, biased, kgram
from anyorder.estimators.floor import Floor, floor
from anyorder.estimators.hidden import bayes_under_token_noise, filtered, uniform_nodes
from anyorder.estimators.losses import (
    Score,
    Summary,
    exact_loss,
    mean_and_error,
    missed_probability,
    sampled_loss,
    summarise,
    true_loss,
)
from anyorder.estimators.matching import pseudo_attention
from anyorder.estimators.noisy import bayes_under_transition_noise
from anyorder.estimators.result import Estimate, WeightedEstimate
from anyorder.estimators.unknown_order import ctw, mixture

#: The Bayes predictor of Dirichlet(β) rows, under the name that people look for.
bayes = add_beta

if TYPE_CHECKING:
    from anyorder.estimators.streaming import StreamingEstimator

__all__ = [
    "Estimate",
    "Floor",
    "Score",
    "StreamingEstimator",
    "Summary",
    "WeightedEstimate",
    "add_beta",
    "add_beta_bag",
    "backoff",
    "bag",
    "bayes",
    "bayes_under_token_noise",
    "bayes_under_transition_noise",
    "biased",
    "ctw",
    "exact_loss",
    "filtered",
    "floor",
    "kgram",
    "mean_and_error",
    "missed_probability",
    "mixture",
    "pseudo_attention",
    "sampled_loss",
    "summarise",
    "true_loss",
    "uniform_nodes",
]


def __getattr__(name: str) -> Any:
    if name == "StreamingEstimator":  # its compiler takes half a second to import: only where it is used
        from anyorder.estimators.streaming import StreamingEstimator

        return StreamingEstimator
    raise AttributeError(f"module 'anyorder.estimators' has no attribute {name!r}")
