"""Every estimator next to the true loss and the Bayes floor, on the same sequences."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, PRNGKeyArray

from anyorder import chains, estimators
from anyorder.estimators import Estimate, Summary

#: Predictors in the order in which they are shown. The first is the floor: optimal for Dirichlet(1) rows.
PREDICTORS: dict[str, Callable[..., Estimate]] = {
    "Bayes (add-one)": estimators.add_beta,
    "add-half (KT)": partial(estimators.add_beta, beta=0.5),
    "back-off": estimators.backoff,
    "k-gram": estimators.kgram,
    "biased k-gram": estimators.biased,
    "bag of k": estimators.bag,
}
FLOOR = "Bayes (add-one)"


class Scores(NamedTuple):
    """One predictor, where it is defined.

    `excess` is the exact loss less the true loss on the same sequences, infinite as soon as something that can
    come has probability zero; `missed` is the probability of such tokens; `distance` is the total variation
    distance to the true distribution, which is always finite.
    """

    excess: Summary
    missed: Summary
    distance: Summary


class Comparison(NamedTuple):
    """Every predictor on one set of sequences; losses are in nats per token."""

    order: int
    alphabet_size: int
    length: int
    sequences: int
    true: Summary
    scores: dict[str, Scores]


def compare(
    key: PRNGKeyArray, *, order: int, alphabet_size: int = 2, length: int = 65, count: int = 4096
) -> Comparison:
    """Sample chains with Dirichlet(1) rows and measure every predictor on them.

    Losses are expectations over the true next-token distribution, so all the noise left is in the sequences.

    >>> result = compare(jax.random.key(0), order=1, length=9, count=64)
    >>> 0 < result.scores[FLOOR].excess.mean < 1
    True
    """
    true, measured = _measure(key, order, alphabet_size, length, count)
    # The first k tokens are uniform whatever the kernel: only what is predicted from a full window counts.
    true, measured = jax.tree.map(lambda values: values[:, order - 1 :], (true, measured))
    scores = {
        name: Scores(*map(estimators.summarise, values)) for name, values in zip(PREDICTORS, measured, strict=True)
    }
    return Comparison(order, alphabet_size, length, count, estimators.summarise(true), scores)


Losses = Float[Array, "count predicted"]


@eqx.filter_jit
def _measure(
    key: PRNGKeyArray, order: int, alphabet_size: int, length: int, count: int
) -> tuple[Losses, list[tuple[Losses, Losses, Losses]]]:
    drawn = chains.sample(key, chains.Dirichlet(order, alphabet_size), length=length, count=count)

    def measure(predictor: Callable[..., Estimate]) -> tuple[Losses, Losses, Losses]:
        def one(tokens: Array, truth: Array) -> tuple[Array, Array, Array]:
            estimate = predictor(tokens, order=order, alphabet_size=alphabet_size)
            predicted, true = estimate.probabilities[:-1], truth[1:]
            excess = estimators.exact_loss(estimate.probabilities, truth) - estimators.true_loss(truth)
            return excess, estimators.missed_probability(estimate, truth), jnp.abs(predicted - true).sum(axis=1) / 2

        return jax.vmap(one)(drawn.tokens, drawn.truth)

    true = jax.vmap(estimators.true_loss)(drawn.truth)
    return true, [measure(predictor) for predictor in PREDICTORS.values()]
