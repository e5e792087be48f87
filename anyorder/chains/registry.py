"""Priors by name, and `sample`, which draws a batch of sequences."""

from __future__ import annotations

import inspect

import jax.numpy as jnp
from jax.typing import DTypeLike
from jaxtyping import Array, Float

from anyorder.chains.config import PRIORS
from anyorder.chains.kernel import Kernel
from anyorder.chains.noise import Noise
from anyorder.chains.priors import Prior
from anyorder.chains.random import Seed
from anyorder.chains.sampling import Start
from anyorder.chains.source import Chains, Source, as_prior
from anyorder.errors import require
from anyorder.io.gates import gated


@gated
def named_prior(
    name: str | type[Prior],
    order: int,
    alphabet_size: int,
    *,
    gamma: float | Float[Array, ""] = 0.2,
    concentration: float = 1.0,
    min_order: int = 1,
    max_order: int = 3,
    depth: int = 3,
    chains: int = 16,
    pool_seed: int = 0,
) -> Prior:
    """The prior of this name or class; numbers that are not its parameters are ignored.

    >>> named_prior("tree", 1, 4, depth=2).order
    2
    """
    numbers = dict(locals())
    make = PRIORS.find(name)
    own = inspect.signature(make).parameters
    return make(**{number: value for number, value in numbers.items() if number in own})


@gated
def sample(
    prior: str | type[Prior] | Prior | Kernel = "dirichlet",
    *,
    order: int | None = None,
    alphabet_size: int | None = None,
    length: int = 64,
    count: int = 1,
    seed: Seed = 0,
    start: Start = "uniform",
    noise: Noise | None = None,
    dtype: DTypeLike = jnp.float64,
) -> Chains:
    """Draw `count` kernels and one sequence of `length` tokens from each; `seed` is an integer or a key.

    `prior` is a name or a class, with `order` and `alphabet_size`, by default 2 and 2, or a prior, which has its own; a
    `Kernel` is the kernel of every sequence.

    >>> sample(order=3, length=8, count=2, seed=7).tokens.shape
    (2, 8)
    """
    if isinstance(prior, str | type):
        prior = named_prior(prior, 2 if order is None else order, 2 if alphabet_size is None else alphabet_size)
    source = Source(as_prior(prior), length, noise, start)
    for name, given, own in (("order", order, source.order), ("alphabet_size", alphabet_size, source.alphabet_size)):
        require(given in (None, own), f"{name.replace('_', ' ')} is {given}, the prior has {own}; drop `{name}=`")
    return source.sample(seed, count, dtype)
