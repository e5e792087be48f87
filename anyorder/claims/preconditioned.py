"""App. D: Algorithm 2, its preconditioner, and the two theorems about where it ends."""

from __future__ import annotations

from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from anyorder import chains, dynamics
from anyorder.chains import Dirichlet, Prior, Reversible, ReversibleBinary
from anyorder.claims.entry import Finding, claim, judge
from anyorder.claims.gradient import closed_descent, mean_scores, softmax
from anyorder.claims.higher_order import NewestFirst
from anyorder.dynamics.objective import all_contexts, bagged, followers, frequencies


@claim("eq-preconditioner", "App. D.2", "D⁻¹ = diag(0, 1, d_1/d_2, …, d_1/d_k, 1, …) moves p_1 … p_k alike.")
def preconditioner() -> Finding:
    """The scalars p_1 … p_k over 400 steps of the closed form, orders 2 and 3."""
    spreads = []
    for order in (2, 3):
        p = closed_descent(mean_scores(Reversible(order, 2), 64), order, 2**order)
        spreads.append(float(np.ptp(p[:, 1 : order + 1], axis=1).max()))
    return judge(
        {"orders": [2, 3], "largest difference among p_1 … p_k": spreads},
        printed=max(spreads) < 1e-9,
        failure="they part",
    )


def _limit(order: int, prior: Prior, weights: Float[np.ndarray, "offsets"]) -> dict[str, float]:
    """The head with these weights at a large kappa and with norms, against the k-gram and the bag of k, T = 256."""
    return {
        name: float(value) for name, value in _distances(order, prior, jnp.asarray(np.log(weights + 1e-300))).items()
    }


@eqx.filter_jit
def _distances(order: int, prior: Prior, p: Float[Array, "offsets"]) -> dict[str, Float[Array, ""]]:
    length, size = 256, prior.alphabet_size
    sampled = chains.sample(jax.random.key(5), prior, length=length, count=16)
    padded = jnp.concatenate([p, jnp.full(length - len(p), dynamics.reduced.EXCLUDED, p.dtype)])
    model = dynamics.Reduced(padded, jnp.asarray(1e4, p.dtype), jnp.zeros(order, p.dtype), True)

    def one(tokens: Array) -> dict[str, Array]:
        counts = followers(tokens, order, size)
        given = model.predict(tokens, all_contexts(order, size), size)
        exact = {"k-gram": frequencies(counts), "bag of k": frequencies(bagged(counts, order))}
        return {name: jnp.abs(given - rows).max(axis=1).mean() for name, rows in exact.items()}

    return {name: values.mean() for name, values in jax.vmap(one)(sampled.tokens).items()}


@claim(
    "thm-second-order",
    "App. D, second-order theorem",
    "Under Assumption 2, Algorithm 2 ends with weights 1/2 on offsets 1 and 2, and as "
    "the temperature changes the model becomes the 2-gram.",
)
def second_order() -> Finding:
    """The closed form under both readings of the assumption, and the estimator that weights 1/2 give."""
    ends = {
        name: softmax(closed_descent(mean_scores(prior, 400), 2, 4)[-1])
        for name, prior in (("newest first", NewestFirst()), ("oldest first", ReversibleBinary()))
    }
    distances = _limit(2, NewestFirst(), np.array([0.0, 0.5, 0.5]))
    weights = {name: end[1:3].tolist() for name, end in ends.items()}
    reached = {name: min(pair) > 0.49 for name, pair in weights.items()}
    return judge(
        {
            **{f"weights at offsets 1 and 2, {name}": pair for name, pair in weights.items()},
            **{f"mean distance of the limit to the {name}": value for name, value in distances.items()},
        },
        printed=all(reached.values()) and distances["k-gram"] < 0.02,
        failure="read newest first the weights come to 1/2 each, and that is the bag of 2, not the 2-gram (E8)"
        if reached["newest first"] and distances["bag of k"] < distances["k-gram"]
        else "the weights do not come to 1/2 each",
    )


@claim(
    "thm-any-order",
    "App. D, any-order theorem",
    "Under Assumption 3, Algorithm 2 ends with weights 1/k on offsets 1 … k, and the model becomes the k-gram.",
)
def any_order() -> Finding:
    """The closed form on reversible chains of orders 2 and 3 (no chain meets the assumption), and what 1/k gives."""
    numbers: dict[str, Any] = {}
    reached, bag = [], []
    for order in (2, 3):
        weights = softmax(closed_descent(mean_scores(Reversible(order, 2), 64), order, 2**order)[-1])[1 : order + 1]
        distances = _limit(order, Dirichlet(order, 2), np.array([0.0, *[1 / order] * order]))
        reached.append(bool(weights.min() > 1 / order - 0.01))
        bag.append(distances["bag of k"] < distances["k-gram"] and distances["k-gram"] > 0.02)
        numbers[f"weights at 1 … k, order {order}"] = weights.tolist()
        numbers[f"mean distance of the limit to k-gram and bag, order {order}"] = [
            distances["k-gram"],
            distances["bag of k"],
        ]
    return judge(
        numbers,
        printed=all(reached) and not any(bag),
        failure="on reversible chains the weights come to 1/k each, but that is the bag of k, not the k-gram (E8); "
        "and no chain meets the "
        "assumption (E15, E16)"
        if all(reached)
        else "the weights do not come to 1/k each",
    )


@claim(
    "alg-2",
    "App. D, Algorithm 2",
    "Preconditioned steps on the second head's scalars, p_0 = -∞, first head fixed: p_1 = … = p_k lead.",
    quick=False,
)
def algorithm_two() -> Finding:
    """A run with sampled gradients on reversible chains of order 2, T = 64."""
    run = dynamics.preconditioned(Reversible(2, 2), dynamics.Preconditioned(length=64, steps=200, batch=64))
    standings = run.evaluation.standings
    return judge(
        {
            "they lead after every step": run.leads,
            "largest difference among them": run.spread,
            "weights at offsets 1 and 2": run.attention[-1, 1:3].tolist(),
            "excess of 2-gram, bag of 2": [standings["k-gram"].excess, standings["bag of k"].excess],
        },
        printed=run.leads and run.spread < 1e-9 and run.attention[-1, 1:3].min() > 0.49,
        note="the chains are reversible as processes; what the weights are good for is in E8 and thm-any-order",
        failure="they do not lead",
    )
