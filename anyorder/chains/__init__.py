"""Chains of any order: kernels, priors over them, sampling and noise."""

from anyorder import numerics as numerics
from anyorder.chains.assumptions import Check, check_any_order, check_first_order, check_second_order
from anyorder.chains.kernel import Kernel
from anyorder.chains.noise import TokenNoise, TransitionNoise
from anyorder.chains.priors import Dirichlet, Floored, PointMass, Prior, Reversible, ReversibleBinary, named_prior
from anyorder.chains.sampling import Chains, sample

__all__ = [
    "Chains",
    "Check",
    "Dirichlet",
    "Floored",
    "Kernel",
    "PointMass",
    "Prior",
    "Reversible",
    "ReversibleBinary",
    "TokenNoise",
    "TransitionNoise",
    "check_any_order",
    "check_first_order",
    "check_second_order",
    "named_prior",
    "sample",
]
