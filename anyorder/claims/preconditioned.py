"""App. D: Algorithm 2, its preconditioner, and the two theorems about where it ends."""

from __future__ import annotations

import dataclasses
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from anyorder import chains, dynamics
from anyorder.chains import Dirichlet, Kernel, Prior, Reversible, ReversibleBinary
from anyorder.claims.entry import Finding, claim, judge
from anyorder.claims.gradient import closed_descent, mean_scores, softmax
from anyorder.claims.higher_order import ROUNDING, NewestFirst, random_kernels
from anyorder.claims.measures import drawn
from anyorder.dynamics.objective import all_contexts, bagged, followers, frequencies


@claim("eq-higher-query", "App. D.2", "The score is Z_i = <(e_{x_n} + e_{x_{n-1}} + … + e_{x_{n-k}})/k, v_i>.")
def higher_query() -> Finding:
    """Weights of the query as printed and as in the model of App. D.1, orders 1 to 3, and the reduced model's."""
    printed = [(order + 1) / order for order in (1, 2, 3)]
    model = [float(jax.nn.softmax(dynamics.initial(length=8, a_2=1.0, order=order).r).sum()) for order in (1, 2, 3)]
    terms = [len(dynamics.initial(length=8, a_2=1.0, order=order).r) for order in (1, 2, 3)]
    return judge(
        {"sum of the weights as printed, k = 1, 2, 3": printed, "of the model": model, "its terms": terms},
        printed=all(abs(total - 1) < 1e-12 for total in printed),
        corrected=terms == [1, 2, 3] and all(abs(total - 1) < 1e-12 for total in model),
        correction="k terms, x_n … x_{n-k+1}, as u_n in App. D.1 and in the next formula",
        failure="neither is a mean",
    )


@claim(
    "eq-g-any-order",
    "App. D.2",
    "g_{i,j,l} = Σ π(s'|s_1 … s_k)/μ(s')·P(x_i = s', x_{i-j} = s_l) - S^(k-1); for binary second-order chains their "
    "sum over l "
    "is 2(Σ π(s'|0,0)/μ·P(s', 0) + Σ π(s'|1,1)/μ·P(s', 1) - 1).",
)
def any_order_scores() -> Finding:
    """Both forms on random second-order kernels, lags 0 … 5, from the lifted chain by plain sums."""
    gap, scores = 0.0, jax.jit(lambda kernel: dynamics.lag_scores(kernel, 6))
    for kernel in random_kernels(8):
        pi, mu, words = kernel.probabilities, kernel.symbol_distribution, kernel.stationary
        ours = np.asarray(scores(jnp.asarray(pi)))
        matrix = np.asarray(kernel.transition_matrix)
        for j in range(6):
            later = np.linalg.matrix_power(matrix, j).reshape(2, 2, 2, 2)  # older, newer → older, newer after j steps
            pair = np.einsum("os,osnt->st", words, later)  # P(x_{i-j} = s, x_i = t)
            ratio = pair / mu
            first = sum((pi[a, b] * ratio[s]).sum() for a in (0, 1) for b in (0, 1) for s in (a, b)) - 2 * 2
            second = 2 * ((pi[0, 0] * ratio[0]).sum() + (pi[1, 1] * ratio[1]).sum() - 1)
            gap = max(gap, abs(first - ours[j]), abs(second - ours[j]))
    return judge({"largest difference of the three": float(gap)}, printed=gap < 1e-9, failure="the forms differ")


@claim("eq-g-second-order", "App. D.2.1", "Detailed balance gives g_{i,j} = 2(Σ_s P^|i-j|(s|s,s) - 1).")
def second_order_identity() -> Finding:
    """g_j against 2(Σ_s P^m(s|s,s) - 1) with m = j + 1, which the derivation gives, and with m = j."""
    errors, plain = [], []
    for kernel in drawn(NewestFirst(), 400)[:32]:
        found = dynamics.second_order_decay(Kernel(kernel))
        errors.append(found.identity_error)
        plain.append(float(np.abs(found.scores - 2 * (found.returns.sum(axis=0) - 1)).max()))
    first_order = Kernel(np.broadcast_to(np.array([[0.8, 0.2], [0.3, 0.7]]), (2, 2, 2)))
    return judge(
        {
            "kernels": len(errors),
            "smallest and largest error, m = j + 1": [min(errors), max(errors)],
            "smallest and largest error, m = j": [min(plain), max(plain)],
            "error for a chain that is of first order, m = j + 1": dynamics.second_order_decay(
                first_order
            ).identity_error,
        },
        printed=max(plain) < 1e-9 or max(errors) < 1e-9,
        failure="P(x_{i-j} | x_i = s') forgets the token before x_i, P^m(s|s,s) does not; equal for first-order "
        "chains only, with m = j + 1",
    )


scores_erratum = dataclasses.replace(second_order_identity, id="E21", where="App. D, second order")


@claim("eq-g-monotone", "App. D.2.1", "Under Assumption 2, g_{i,0} > g_{i,1} > g_{i,2} > … .")
def second_order_scores() -> Finding:
    """E[g_j] and single kernels, contexts read newest first and oldest first."""
    numbers: dict[str, Any] = {}
    falls = {}
    for name, prior in (("newest first", NewestFirst()), ("oldest first", ReversibleBinary())):
        scores = np.array([dynamics.second_order_decay(Kernel(kernel)).scores for kernel in drawn(prior, 400)])
        mean, error = scores.mean(axis=0), np.diff(scores, axis=1).std(axis=0) / np.sqrt(len(scores))
        falls[name] = bool((np.diff(mean) < 2 * error).all())
        numbers[f"E[g_1] … E[g_6], {name}"] = mean[:6].tolist()
        numbers[f"share of kernels with falling g, {name}"] = float(
            (np.diff(scores, axis=1) < ROUNDING).all(axis=1).mean()
        )
    return judge(
        numbers,
        printed=all(falls.values()) and all(value == 1.0 for key, value in numbers.items() if "share" in key),
        corrected=falls["newest first"],
        correction="in the mean over the prior, which the gradient needs, and with contexts read newest first; not "
        "for every kernel, and "
        "not oldest first, where g_2 is above g_1",
        failure="not even in the mean",
    )


preference_erratum = dataclasses.replace(
    second_order_scores,
    id="E22",
    where="App. D, second order",
    says="The transition preference π(0|0,0) > π(0|1,0) makes g fall, with contexts written oldest first.",
)


@claim("eq-g-positive", "App. D.2", "Assumptions 2 and 3 give g_{i,1} > 1, and so -dL/dp_1 ≥ 0 at the start.")
def leading_score() -> Finding:
    """E[g_1] under both readings of Assumption 2 and on reversible chains, against 1 and against the mean of g."""
    priors = {
        "newest first": NewestFirst(),
        "oldest first": ReversibleBinary(),
        "reversible, order 2": Reversible(2, 2),
    }
    leading, pull = {}, {}
    for name, prior in priors.items():
        scores = np.asarray(mean_scores(prior, 64 if isinstance(prior, Reversible) else 400))
        leading[name], pull[name] = float(scores[1]), float(scores[1] - scores[1:].mean())
    return judge(
        {f"E[g_1], and E[g_1] less the mean, {name}": [leading[name], pull[name]] for name in priors},
        printed=min(leading.values()) > 1,
        corrected=min(pull.values()) > 0,
        correction="g_1 is below 1; what -dL/dp_1 ≥ 0 needs is that g_1 is above the mean of g, and that it is",
        failure="g_1 is not above the mean",
    )


@claim(
    "eq-preconditioner", "App. D.2", "D⁻¹ = diag(0, 1, d_1/d_2, …, d_1/d_k, 1, …) moves p_1 … p_k alike.", quick=False
)
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
    quick=False,
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
