"""Chains of any order: kernels, priors over them, sampling and noise."""

from anyorder.chains.assumptions import Check, check_any_order, check_first_order, check_second_order, conditions
from anyorder.chains.kernel import Kernel
from anyorder.chains.noise import Noise, TokenNoise, TransitionNoise
from anyorder.chains.priors import Dirichlet, Floored, PointMass, Prior, Reversible, ReversibleBinary
from anyorder.chains.registry import PRIORS, named_prior, sample
from anyorder.chains.shared_rows import BagSymmetric, OrderMixture, Tree
from anyorder.chains.source import Chains, Source
from anyorder.io import numerics as numerics

__all__ = [
    "PRIORS",
    "BagSymmetric",
    "Chains",
    "Check",
    "Dirichlet",
    "Floored",
    "Kernel",
    "Noise",
    "OrderMixture",
    "PointMass",
    "Prior",
    "Reversible",
    "ReversibleBinary",
    "Source",
    "TokenNoise",
    "TransitionNoise",
    "Tree",
    "check_any_order",
    "check_first_order",
    "check_second_order",
    "conditions",
    "named_prior",
    "sample",
]
