"""Chains by the name of their prior: the short way to a batch of sequences."""

from __future__ import annotations

from jaxtyping import PRNGKeyArray

from anyorder.chains.noise import Noise
from anyorder.chains.priors import Prior, named_prior
from anyorder.chains.sampling import Start
from anyorder.chains.source import Chains, Source


def sample(
    prior: str | Prior = "dirichlet",
    *,
    order: int = 2,
    alphabet_size: int = 2,
    length: int = 64,
    count: int = 1,
    seed: int | PRNGKeyArray = 0,
    start: Start = "uniform",
    noise: Noise | None = None,
) -> Chains:
    """Draw `count` kernels and one sequence of `length` tokens from each; `seed` is an integer or a key.

    `prior` is a name, with `order` and `alphabet_size`, or a prior of `anyorder.chains`, which has its own.

    >>> sample(order=3, length=8, count=2, seed=7).tokens.shape
    (2, 8)
    """
    drawn = named_prior(prior, order, alphabet_size) if isinstance(prior, str) else prior
    return Source(drawn, length, noise, start).sample(seed, count)
