"""The Bayes predictor of a source: the estimator with the least expected loss."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from functools import partial
from typing import Any

import jax
import jax.numpy as jnp

from anyorder.chains import (
    BagSymmetric,
    Dirichlet,
    DoublyStochastic,
    Kernel,
    OrderMixture,
    PointMass,
    Pool,
    Prior,
    Recall,
    Source,
    TokenNoise,
    TransitionNoise,
    Tree,
    as_source,
)
from anyorder.errors import InputError
from anyorder.estimators.counting import add_beta, add_beta_bag, add_beta_difference, where_full
from anyorder.estimators.noisy import bayes_under_transition_noise
from anyorder.estimators.result import Estimate, WeightedEstimate
from anyorder.estimators.retrieval import retrieval, unigram_retrieval
from anyorder.estimators.unknown_order import ctw, mixture, of_order
from anyorder.io.gates import gated
from anyorder.io.tokens import Tokens, as_tokens, spelled

Predictor = Callable[[Tokens], Estimate | WeightedEstimate]
"""From one sequence to the next-token distributions after every position; row n predicts token n + 1."""


@dataclasses.dataclass(frozen=True)
class Floor:
    """The Bayes predictor of a source, or the reason why none is known."""

    predictor: Predictor | None
    reason: str | None = None
    name: str = "bayes"

    def __repr__(self) -> str:
        function: Any = getattr(self.predictor, "func", self.predictor)
        return f"Floor({self.reason or getattr(function, '__name__', function)})"

    def __call__(self, tokens: Tokens, *, alphabet: str | None = None) -> Estimate | WeightedEstimate:
        """The Bayes predictor's distributions on one sequence; a string needs its alphabet."""
        if self.predictor is None:
            raise InputError(f"{self.reason}")
        return self.predictor(spelled(tokens, alphabet) if isinstance(tokens, str) else tokens)


@gated
def floor(source: Source | Prior | Kernel) -> Floor:
    """The Bayes predictor of the source's sequences: no other has a smaller expected loss.

    >>> from anyorder.chains import Dirichlet, Source
    >>> floor(Source(Dirichlet(1, 2), length=6))([0, 1, 0, 1, 1, 0]).probabilities[-1].tolist()
    [0.25, 0.75]
    >>> floor(Source(Dirichlet(1, 2), length=6, noise=TokenNoise(0.1))).reason
    'token noise hides the chain: its Bayes predictor has no closed form'
    """
    source = as_source(source)
    prior, noise, uniform = source.prior, source.noise, source.start == "uniform"
    known = type(prior) in _PREDICTORS
    if isinstance(prior, PointMass) and (uniform or not isinstance(noise, TokenNoise)):
        return Floor(partial(retrieval, kernels=prior.probabilities[None], noise=noise), name="kernel")
    if isinstance(prior, Pool) and uniform:
        return Floor(partial(retrieval, kernels=prior.kernels, noise=noise), name="retrieval")
    if type(prior).floor is not Prior.floor and noise is None and uniform:
        return Floor(as_predictor(prior.floor, source), name="floor")
    if not type(prior).__module__.startswith("anyorder."):
        kind = type(prior).__name__
        return Floor(None, f"no floor is known for {kind}; define its method floor(tokens), or pass `floor=`")
    if isinstance(noise, TokenNoise):
        return Floor(None, "token noise hides the chain: its Bayes predictor has no closed form")
    if not uniform and (known or isinstance(prior, Pool)):
        return Floor(None, "a stationary start depends on the kernel: its Bayes predictor has no closed form")
    if isinstance(noise, TransitionNoise) and isinstance(prior, Dirichlet):
        return _under_noise(prior, noise, source.length)
    if not known:
        return Floor(None, f"rows of the {prior.name} prior are not Dirichlet: its Bayes predictor has no closed form")
    if noise is not None:
        return Floor(None, f"rows of the {prior.name} prior under noise have no Bayes predictor in closed form")
    if isinstance(prior, DoublyStochastic) and prior.alphabet_size > 2:
        return Floor(None, "doubly stochastic kernels have a Bayes predictor in closed form for two symbols only")
    return _PREDICTORS[type(prior)](source)


#: The Bayes predictor of each prior that has one, without noise.
_PREDICTORS: dict[type[Prior], Callable[[Any], Floor]] = {
    Dirichlet: lambda source: Floor(partial(add_beta, order=source.order, **_numbers(source))),
    BagSymmetric: lambda source: Floor(partial(add_beta_bag, order=source.order, **_numbers(source))),
    DoublyStochastic: lambda source: Floor(partial(add_beta_difference, order=source.order, **_numbers(source))),
    OrderMixture: lambda source: Floor(
        partial(mixture, min_order=source.prior.min_order, max_order=source.order, **_numbers(source)), name="mixture"
    ),
    Tree: lambda source: Floor(partial(ctw, depth=source.order, **_numbers(source)), name="ctw"),
    Recall: lambda source: Floor(partial(_recalled, source=source), name="recall"),
}


def _numbers(source: Source) -> dict[str, Any]:
    prior: Any = source.prior
    return {"alphabet_size": prior.alphabet_size, "beta": prior.concentration}


def _recalled(tokens: Tokens, source: Any) -> Estimate:
    tokens = as_tokens(tokens, source.order, source.alphabet_size)
    return where_full(source.prior.predict(tokens, source.length), source.order)


@gated
def references(source: Source | Prior | Kernel) -> dict[str, Predictor]:
    """The reference predictors of a source by name, to compare models with; the Bayes predictor first, if known.

    `order-j` is add-β smoothing of order j, for j = 0 … k, without counts of the first k tokens. The source's own
    predictors follow.

    >>> from anyorder.chains import Pool
    >>> list(references(Pool(order=1, alphabet_size=2, chains=8)))
    ['retrieval', 'order-0', 'order-1', 'unigram-retrieval']
    """
    source = as_source(source)
    best, prior = floor(source), source.prior
    found: dict[str, Predictor] = {} if best.predictor is None else {best.name: best.predictor}
    exact = isinstance(prior, Dirichlet) and best.name in found and source.noise is None  # order-k is then the floor
    beta = getattr(prior, "concentration", 1.0)
    for order in range(source.order + (not exact)):
        found[f"order-{order}"] = partial(_of_order, order=order, source=source, beta=beta)
    if isinstance(prior, Pool):
        found["unigram-retrieval"] = partial(unigram_retrieval, kernels=prior.kernels)
    return found | {name: as_predictor(one, source) for name, one in prior.predictors().items()}


def as_predictor(function: Callable[..., Any], source: Source) -> Predictor:
    """A function from one sequence to rows (length, S) or an estimate, as a predictor on this source."""

    def predictor(tokens: Tokens) -> Estimate | WeightedEstimate:
        found = function(tokens)
        return found if isinstance(found, Estimate | WeightedEstimate) else where_full(jnp.asarray(found), source.order)

    return predictor


def _of_order(tokens: Tokens, order: int, source: Source, beta: float) -> Estimate:
    tokens = as_tokens(tokens, source.order, source.alphabet_size)
    return where_full(of_order(tokens, order, source.order, source.alphabet_size, beta)[1], source.order)


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
