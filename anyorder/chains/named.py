"""Priors by their names, and the short way to a batch of sequences.

To add a prior, write it and add its entry to `PRIORS`; `anyorder.source_config` names those that commands offer.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import jax.numpy as jnp
from jax.typing import DTypeLike
from jaxtyping import Array, Float, PRNGKeyArray

from anyorder.chains.kernel import Kernel
from anyorder.chains.noise import Noise
from anyorder.chains.priors import Dirichlet, Floored, PointMass, Prior, Reversible, ReversibleBinary
from anyorder.chains.sampling import Start
from anyorder.chains.shared import BagSymmetric, OrderMixture, Tree
from anyorder.chains.source import Chains, Source
from anyorder.errors import check_whole, require

_SIZES = ("order", "alphabet_size")
#: Every prior by its name: what makes it, and the numbers that are its own.
PRIORS: dict[str, tuple[Callable[..., Prior], tuple[str, ...]]] = {
    "dirichlet": (Dirichlet, (*_SIZES, "concentration")),
    "floored": (Floored, (*_SIZES, "gamma")),
    "reversible": (Reversible, _SIZES),
    "reversible-binary": (ReversibleBinary, _SIZES),
    "reversible-binary-newest": (partial(ReversibleBinary, newest_first=True), _SIZES),
    "bag-symmetric": (BagSymmetric, (*_SIZES, "concentration")),
    "order-mixture": (OrderMixture, ("alphabet_size", "min_order", "max_order", "concentration")),
    "tree": (Tree, ("alphabet_size", "depth", "concentration")),
}


def named_prior(
    name: str,
    order: int,
    alphabet_size: int,
    *,
    gamma: float | Float[Array, ""] = 0.2,
    concentration: float = 1.0,
    min_order: int = 1,
    max_order: int = 3,
    depth: int = 3,
) -> Prior:
    """The prior that a command or a config names; each takes the numbers that are its own.

    >>> named_prior("tree", 1, 4, depth=2).order
    2
    """
    numbers = dict(locals())
    check_whole(order=order, alphabet_size=alphabet_size)
    require(name in PRIORS, f"prior is {name!r}, must be one of {', '.join(PRIORS)}")
    make, own = PRIORS[name]
    return make(**{number: numbers[number] for number in own})


def sample(
    prior: str | Prior | Kernel = "dirichlet",
    *,
    order: int = 2,
    alphabet_size: int = 2,
    length: int = 64,
    count: int = 1,
    seed: int | PRNGKeyArray = 0,
    start: Start = "uniform",
    noise: Noise | None = None,
    dtype: DTypeLike = jnp.float64,
) -> Chains:
    """Draw `count` kernels and one sequence of `length` tokens from each; `seed` is an integer or a key.

    `prior` is a name, with `order` and `alphabet_size`, or a prior of `anyorder.chains`, which has its own; a
    `Kernel` is the kernel of every sequence.

    >>> sample(order=3, length=8, count=2, seed=7).tokens.shape
    (2, 8)
    """
    drawn = named_prior(prior, order, alphabet_size) if isinstance(prior, str) else prior
    drawn = PointMass(drawn) if isinstance(drawn, Kernel) else drawn
    require(isinstance(drawn, Prior), f"the prior is {drawn!r}, must be a name, a prior or a kernel")
    return Source(drawn, length, noise, start).sample(seed, count, dtype)
