"""Estimators: exact in-context predictors, the ground truth that everything is judged by."""

from typing import TYPE_CHECKING

from anyorder import numerics as numerics
from anyorder.estimators.counting import add_beta, add_beta_bag, backoff, bag, bayes, biased, kgram
from anyorder.estimators.floor import Floor, floor
from anyorder.estimators.hidden import bayes_under_token_noise, filtered, uniform_nodes
from anyorder.estimators.losses import (
    LossSummary,
    Score,
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
from anyorder.lazy import when_named

if TYPE_CHECKING:
    from anyorder.estimators.order_scores import OrderReport as OrderReport
    from anyorder.estimators.order_scores import OrderStream as OrderStream
    from anyorder.estimators.order_scores import orders as orders
    from anyorder.estimators.streaming import StreamingEstimator as StreamingEstimator

#: Names whose compiler takes half a second to import: only where they are used.
_COMPILED = {
    "OrderReport": "order_scores",
    "OrderStream": "order_scores",
    "StreamingEstimator": "streaming",
    "orders": "order_scores",
}

__all__ = [
    "Estimate",
    "Floor",
    "LossSummary",
    "OrderReport",
    "OrderStream",
    "Score",
    "StreamingEstimator",
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
    "orders",
    "pseudo_attention",
    "sampled_loss",
    "summarise",
    "true_loss",
    "uniform_nodes",
]

if not TYPE_CHECKING:  # so that a type checker sees a misspelt name
    __getattr__, __dir__ = when_named(__name__, _COMPILED)
