"""The Bayes predictor of a source: the one place that knows which estimator no other beats on average."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from functools import partial

import jax
import jax.numpy as jnp

from anyorder.chains import Dirichlet, Source, TokenNoise, TransitionNoise
from anyorder.errors import InputError, require
from anyorder.estimators.counting import Tokens, add_beta
from anyorder.estimators.noisy import bayes_under_transition_noise
from anyorder.estimators.result import Estimate


@dataclasses.dataclass(frozen=True)
class Floor:
    """A Bayes predictor, or the reason why none is known in closed form."""

    predictor: Callable[[Tokens], Estimate] | None
    reason: str | None = None

    def __call__(self, tokens: Tokens) -> Estimate:
        """The Bayes predictor's distributions on one sequence."""
        require(self.predictor is not None, f"{self.reason}")
        assert self.predictor is not None
        return self.predictor(tokens)


def floor(source: Source) -> Floor:
    """The predictor of the source's sequences that no other beats on average.

    >>> from anyorder.chains import Dirichlet, Source
    >>> floor(Source(Dirichlet(1, 2), length=6))([0, 1, 0, 1, 1, 0]).probabilities[-1].tolist()
    [0.25, 0.75]
    >>> floor(Source(Dirichlet(1, 2), length=6, noise=TokenNoise(0.1))).reason
    'token noise hides the chain: its Bayes predictor has no closed form'
    """
    prior, noise = source.prior, source.noise
    if isinstance(noise, TokenNoise):
        return Floor(None, "token noise hides the chain: its Bayes predictor has no closed form")
    if not isinstance(prior, Dirichlet):
        return Floor(None, f"rows of the {prior.name} prior are not Dirichlet: its Bayes predictor has no closed form")
    if source.start != "uniform":
        return Floor(None, "a stationary start depends on the kernel: its Bayes predictor has no closed form")
    order, size = prior.order, prior.alphabet_size
    if not isinstance(noise, TransitionNoise):
        return Floor(partial(add_beta, order=order, alphabet_size=size, beta=prior.concentration))
    predictor = partial(
        bayes_under_transition_noise,
        order=order,
        alphabet_size=size,
        strength=noise.strength,
        concentration=prior.concentration,
    )
    try:
        jax.eval_shape(predictor, jax.ShapeDtypeStruct((source.length,), jnp.int32))
    except InputError as error:
        return Floor(None, str(error))
    return Floor(predictor)
