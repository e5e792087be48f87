"""The Bayes predictor of a source: the one place that knows which estimator no other beats on average."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from functools import partial
from typing import Any, Protocol, runtime_checkable

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float

from anyorder.chains import (
    BagSymmetric,
    Dirichlet,
    Noise,
    OrderMixture,
    PointMass,
    Prior,
    Source,
    TokenNoise,
    TransitionNoise,
    Tree,
)
from anyorder.errors import InputError
from anyorder.estimators.counting import add_beta, add_beta_bag, where_full
from anyorder.estimators.hidden import filtered
from anyorder.estimators.noisy import bayes_under_transition_noise
from anyorder.estimators.result import Estimate, WeightedEstimate
from anyorder.estimators.unknown_order import ctw, mixture
from anyorder.io.tokens import Tokens, as_tokens, spelled


@runtime_checkable
class Predictor(Protocol):
    """Next-token distributions after every position of one sequence."""

    def __call__(self, tokens: Tokens) -> Estimate | WeightedEstimate:
        """The distributions; row n predicts token n + 1."""


@dataclasses.dataclass(frozen=True)
class Floor:
    """A Bayes predictor, or the reason why none is known in closed form."""

    predictor: Predictor | None
    reason: str | None = None

    def __repr__(self) -> str:
        function: Any = getattr(self.predictor, "func", self.predictor)
        return f"Floor({self.reason or getattr(function, '__name__', function)})"

    def __call__(self, tokens: Tokens, *, alphabet: str | None = None) -> Estimate | WeightedEstimate:
        """The Bayes predictor's distributions on one sequence; a string needs its alphabet."""
        if self.predictor is None:
            raise InputError(f"{self.reason}")
        return self.predictor(spelled(tokens, alphabet) if isinstance(tokens, str) else tokens)


def floor(source: Source) -> Floor:
    """The predictor of the source's sequences that no other beats on average.

    >>> from anyorder.chains import Dirichlet, Source
    >>> floor(Source(Dirichlet(1, 2), length=6))([0, 1, 0, 1, 1, 0]).probabilities[-1].tolist()
    [0.25, 0.75]
    >>> floor(Source(Dirichlet(1, 2), length=6, noise=TokenNoise(0.1))).reason
    'token noise hides the chain: its Bayes predictor has no closed form'
    """
    prior, noise = source.prior, source.noise
    if isinstance(prior, PointMass) and not (isinstance(noise, TokenNoise) and source.start != "uniform"):
        return Floor(partial(known_kernel, kernel=prior.probabilities, noise=noise))
    if isinstance(noise, TokenNoise):
        return Floor(None, "token noise hides the chain: its Bayes predictor has no closed form")
    if source.start != "uniform" and type(prior) in _PREDICTORS:
        return Floor(None, "a stationary start depends on the kernel: its Bayes predictor has no closed form")
    if isinstance(noise, TransitionNoise) and isinstance(prior, Dirichlet):
        return _under_noise(prior, noise, source.length)
    if type(prior) not in _PREDICTORS:
        return Floor(None, f"rows of the {prior.name} prior are not Dirichlet: its Bayes predictor has no closed form")
    if noise is not None:
        return Floor(None, f"rows of the {prior.name} prior under noise have no Bayes predictor in closed form")
    return Floor(_PREDICTORS[type(prior)](prior))


#: The Bayes predictor of each prior that has one, without noise.
_PREDICTORS: dict[type[Prior], Callable[[Any], Predictor]] = {
    Dirichlet: lambda prior: partial(add_beta, order=prior.order, **_numbers(prior)),
    BagSymmetric: lambda prior: partial(add_beta_bag, order=prior.order, **_numbers(prior)),
    OrderMixture: lambda prior: partial(
        mixture, min_order=prior.min_order, max_order=prior.max_order, **_numbers(prior)
    ),
    Tree: lambda prior: partial(ctw, depth=prior.depth, **_numbers(prior)),
}


def _numbers(prior: Dirichlet | BagSymmetric | OrderMixture | Tree) -> dict[str, Any]:
    return {"alphabet_size": prior.alphabet_size, "beta": prior.concentration}


def known_kernel(
    tokens: Tokens, kernel: Float[Array, "*contexts symbols"], noise: Noise | None
) -> Estimate | WeightedEstimate:
    """The row of the kernel after each window; under token noise the filter, which needs the tokens before it too."""
    size, order = kernel.shape[-1], kernel.ndim - 1
    if isinstance(noise, TokenNoise):
        return where_full(filtered(tokens, kernel, noise).probabilities, order)
    tokens = as_tokens(tokens, order, size)
    rows = kernel[tuple(jnp.roll(tokens, order - 1 - place) for place in range(order))]
    mixed = noise.strength if noise is not None else 0.0
    return where_full((1 - mixed) * rows + mixed / size, order)


def _under_noise(prior: Dirichlet, noise: TransitionNoise, length: int) -> Floor:
    predictor = partial(
        bayes_under_transition_noise,
        order=prior.order,
        alphabet_size=prior.alphabet_size,
        strength=noise.strength,
        concentration=prior.concentration,
    )
    try:
        jax.eval_shape(predictor, jax.ShapeDtypeStruct((length,), jnp.int32))
    except InputError as error:
        return Floor(None, str(error))
    return Floor(predictor)
