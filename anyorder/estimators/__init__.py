"""Estimators: exact in-context predictors, the ground truth that everything is judged by."""

from anyorder import numerics as numerics
from anyorder.estimators.counting import add_beta, backoff, bag, biased, kgram
from anyorder.estimators.losses import Summary, exact_loss, missed_probability, sampled_loss, summarise, true_loss
from anyorder.estimators.matching import pseudo_attention
from anyorder.estimators.noisy import bayes_under_transition_noise
from anyorder.estimators.result import Estimate

__all__ = [
    "Estimate",
    "Summary",
    "add_beta",
    "backoff",
    "bag",
    "bayes_under_transition_noise",
    "biased",
    "exact_loss",
    "kgram",
    "missed_probability",
    "pseudo_attention",
    "sampled_loss",
    "summarise",
    "true_loss",
]
