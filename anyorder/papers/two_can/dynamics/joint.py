"""Joint training of all parameters, beyond the paper: the offsets that gradient descent finds from several starts, and
the final predictor of Algorithm 2.

Uniform weights 1/k cannot distinguish 01 from 10 (erratum E8). The same reduced model can, with weights b^j in both
heads: here it is trained from such weights, from the end of Algorithm 2, and from p = 0.
"""

from __future__ import annotations

import dataclasses
from typing import NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import optax
from jaxtyping import Array, Float, Int, PRNGKeyArray, Scalar

from anyorder import chains
from anyorder.chains import Kernel, Prior
from anyorder.chains.random import Seed, as_key
from anyorder.chains.source import as_prior
from anyorder.errors import InputError, require
from anyorder.io.gates import gated
from anyorder.papers.two_can.dynamics.algorithms import SHARP, RunWatcher
from anyorder.papers.two_can.dynamics.objective import (
    Standings,
    all_contexts,
    bagged,
    evaluate,
    followers,
    frequencies,
    mean_excess,
)
from anyorder.papers.two_can.dynamics.reduced import Reduced, coded, initial
from anyorder.papers.two_can.dynamics.settings import AlgorithmSettings


class LimitDistances(NamedTuple):
    """A model with norms and a_2 → ∞, against candidate estimators, over seen contexts.

    Distances are total variation, averaged over contexts (for the bag: bags) in the sequence.
    """

    to_kgram: float
    to_bag: float
    kgram_to_bag: float
    coverage: float
    """The fraction of contexts that occur in the sequences."""


@gated
def limit(p: Float[np.ndarray, "offsets"], prior: Prior, key: Seed, *, length: int, count: int = 256) -> LimitDistances:
    """The limit of learned positional scalars with norms and a_2 → ∞ (erratum E10)."""
    model = Reduced(jnp.asarray(p), jnp.float64(SHARP), jnp.zeros(prior.order, jnp.float64), True)
    drawn = chains.sample(prior, length=length, count=count, start="stationary", seed=as_key(key))
    order, size = prior.order, prior.alphabet_size

    @jax.jit
    @jax.vmap
    def distances(tokens: Int[Array, "length"]) -> tuple[Array, Array]:
        counts = followers(tokens, order, size)
        kgram, bag = frequencies(counts), frequencies(bagged(counts, order))
        predicted = model.predict(tokens, all_contexts(order, size), size)
        seen = counts.sum(axis=1) > 0
        apart = jnp.stack(
            [jnp.abs(x - y).sum(axis=1) / 2 for x, y in ((predicted, kgram), (predicted, bag), (kgram, bag))]
        )
        return jnp.where(seen, apart, 0).sum(axis=1), seen

    sums, seen = map(np.asarray, distances(drawn.tokens))
    return LimitDistances(*map(float, (*(sums.sum(axis=0) / seen.sum()), seen.mean())))


@dataclasses.dataclass(frozen=True, kw_only=True)
class JointTraining:
    """Joint training after Algorithm 2: Adam on p, on the query's r and on a_2 together, with norms."""

    length: int = 64
    """T: sequences have T + 1 tokens."""
    rate: float = 0.03
    steps: int = 1000
    batch: int = 64
    epsilon: float = 1e-3
    a_2: float = 3.0
    """a_2 at the start."""
    seed: int = 0


class JointRuns(NamedTuple):
    """The end points of all starts, next to k-gram, bag of k and Bayes on the same fresh chains."""

    found: dict[str, Reduced]
    evaluation: Standings


@gated
def train_jointly(
    prior: Prior | Kernel,
    settings: JointTraining | None = None,
    learned: Float[np.ndarray, "offsets"] | None = None,
    watch: RunWatcher = lambda done, runs: None,
) -> JointRuns:
    """Train the reduced model from p = 0, from Algorithm 2's end (`learned`), and from dyadic and triadic codes."""
    prior, settings = as_prior(prior), settings or JointTraining()
    AlgorithmSettings(**dataclasses.asdict(settings)).check(prior)  # it has all of these fields
    blank = initial(length=settings.length + 1, a_2=settings.a_2, order=prior.order, normalise=True)
    starts = {"from p = 0": blank}
    if learned is not None:
        require(
            len(learned) == settings.length + 1,
            f"the learned p has {len(learned)} offsets, this training has {settings.length + 1}; give equal lengths",
        )
        # Trained p differ by tens, where every gradient vanishes; -10 relative to the largest can still be learned.
        within = np.maximum(learned - learned.max(), -10.0)
        starts["from Algorithm 2"] = dataclasses.replace(blank, p=jnp.asarray(within))
    starts |= {"from dyadic": coded(blank, 2.0), "from triadic": coded(blank, 3.0)}
    found = {}
    for done, (name, start) in enumerate(starts.items()):
        watch(done, len(starts))
        found[name], excess = _train(start, prior, settings)
        bad = ~np.isfinite(np.asarray(excess))
        if bad.any():
            raise InputError(f"{name}: the run diverged at step {int(bad.argmax()) + 1}; lower the rate")
    sharpened, _ = _train(coded(blank, 2.0), prior, settings, only_a_2=True)  # the code itself, as a baseline
    models = {"dyadic, a_2 trained only": sharpened, **found}
    key = jax.random.fold_in(jax.random.key(settings.seed), (1 << 20) + 1)
    return JointRuns(found, evaluate(models, prior, key, length=settings.length + 1, epsilon=settings.epsilon))


@eqx.filter_jit
def _train(
    start: Reduced, prior: Prior, settings: JointTraining, only_a_2: bool = False
) -> tuple[Reduced, Float[Array, "steps"]]:
    optimiser = optax.adam(optax.cosine_decay_schedule(settings.rate, settings.steps))

    def step(state: tuple[Reduced, optax.OptState], key: PRNGKeyArray) -> tuple[tuple, Scalar]:
        model, memory = state
        drawn = chains.sample(prior, length=len(model.p), count=settings.batch, start="stationary", seed=key)
        excess, gradient = jax.value_and_grad(mean_excess)(model, drawn, settings.epsilon)
        if only_a_2:
            gradient = dataclasses.replace(gradient, p=0 * model.p, r=0 * model.r)
        updates, memory = optimiser.update(gradient, memory)
        return (optax.apply_updates(model, updates), memory), excess

    keys = jax.random.split(jax.random.key(settings.seed), settings.steps)
    (model, _), excesses = jax.lax.scan(step, (start, optimiser.init(start)), keys)
    return model, excesses
