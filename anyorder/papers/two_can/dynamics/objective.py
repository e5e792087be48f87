"""The loss of App. C and D on one sequence, and those of other predictors on the same sequence.

The paper queries the model with every context at equal weight (1/S^k), as in the definition of L*. All
losses are those of the mixture (logit + ε) / (1 + S·ε): the paper's log(logit + ε) up to the constant
log(1 + S·ε), so that it is the loss of a distribution and can never be below L*.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Int, Scalar

from anyorder import chains
from anyorder.chains import Chains, Dirichlet, Floored, PointMass, Prior
from anyorder.chains.random import Seed
from anyorder.estimators import mean_and_error
from anyorder.estimators.noisy import simplex_rule
from anyorder.io.gates import gated
from anyorder.papers.two_can.dynamics.reduced import Reduced

#: A distribution, or counts, for every context.
Rows = Float[Array, "contexts symbols"]
#: Most quadrature nodes per axis for the Bayes predictor of floored rows; fewer if that is exact.
NODES = {2: 512, 3: 96, 4: 24}


def all_contexts(order: int, alphabet_size: int) -> Int[Array, "contexts order"]:
    """Every context, oldest token first, in the order of the rows of a kernel.

    >>> all_contexts(2, 2).tolist()
    [[0, 0], [0, 1], [1, 0], [1, 1]]
    """
    return jnp.indices((alphabet_size,) * order, dtype=jnp.int32).reshape(order, -1).T


def excess(predicted: Rows, rows: Rows, epsilon: float) -> Scalar:
    """Mean over contexts of the loss minus the entropy of the true row.

    >>> excess(jnp.array([[0.5, 0.5]]), jnp.array([[0.5, 0.5]]), 0.0).item()
    0.0
    """
    mixed = (predicted + epsilon) / (1 + rows.shape[1] * epsilon)
    possible = rows > 0  # 0·log 0 is 0
    return (rows * jnp.log(jnp.where(possible, rows, 1) / jnp.where(possible, mixed, 1))).sum(axis=1).mean()


def model_excess(
    model: Reduced, tokens: Int[Array, "length"], kernel: Float[Array, "*contexts symbols"], epsilon: float
) -> Scalar:
    """The excess loss of a reduced model on one sequence, over all contexts."""
    size = kernel.shape[-1]
    return excess(model.predict(tokens, all_contexts(model.order, size), size), kernel.reshape(-1, size), epsilon)


def mean_excess(model: Reduced, sampled: Chains, epsilon: float) -> Scalar:
    """The excess loss of a reduced model, averaged over chains."""
    return jax.vmap(lambda t, k: model_excess(model, t, k, epsilon))(sampled.tokens, sampled.kernels).mean()


def followers(tokens: Int[Array, "length"], order: int, alphabet_size: int) -> Rows:
    """The number of times that each symbol followed each context in the sequence.

    >>> followers(jnp.array([0, 1, 0, 1, 1]), 1, 2).tolist()
    [[0.0, 2.0], [1.0, 1.0]]
    """
    words = sum(tokens[j : len(tokens) - order + j] * alphabet_size ** (order - j) for j in range(order + 1))
    return jnp.bincount(words, length=alphabet_size ** (order + 1)).reshape(-1, alphabet_size).astype(jnp.float64)


def bagged(counts: Rows, order: int) -> Rows:
    """Sums of the counts of all contexts with the same bag of tokens.

    >>> bagged(jnp.array([[1.0, 0.0], [0.0, 2.0], [3.0, 0.0], [0.0, 4.0]]), 2).tolist()
    [[1.0, 0.0], [3.0, 2.0], [3.0, 2.0], [0.0, 4.0]]
    """
    size = counts.shape[1]
    bags = np.sort(np.indices((size,) * order).reshape(order, -1), axis=0)
    same = (bags[:, :, None] == bags[:, None, :]).all(axis=0)
    return jnp.asarray(same, counts.dtype) @ counts


def frequencies(counts: Rows) -> Rows:
    """Counts divided by their sum; uniform where all counts are zero."""
    totals = counts.sum(axis=1, keepdims=True)
    return jnp.where(totals > 0, counts / jnp.where(totals > 0, totals, 1), 1 / counts.shape[1])


def bayes_rows(prior: Prior, length: int) -> Callable[[Rows], Rows] | None:
    """The posterior mean of every row, given the counts; None where rows are not independent under the prior.

    Exact for `Dirichlet`. For `Floored`, whose rows are (1 - γ)θ + γ/S, a quadrature over θ; this ignores that kernels
    with similar rows are redrawn, which couples the rows, and the information in a stationary start.
    """
    if isinstance(prior, Dirichlet):
        return lambda counts: (counts + prior.concentration) / (counts + prior.concentration).sum(axis=1, keepdims=True)
    if isinstance(prior, PointMass):
        return lambda counts: prior.probabilities.reshape(counts.shape)
    if not isinstance(prior, Floored) or prior.alphabet_size not in NODES:
        return None
    nodes = min(NODES[prior.alphabet_size], length // 2 + 2)
    points, weights = (jnp.asarray(array, jnp.float64) for array in simplex_rule(prior.alphabet_size, nodes))
    rows = (1 - prior.gamma) * points + prior.gamma / prior.alphabet_size
    logs, log_weights = jnp.log(rows), jnp.log(weights)
    return lambda counts: jax.nn.softmax(counts @ logs.T + log_weights, axis=1) @ rows


class Standing(NamedTuple):
    """One predictor on many chains: its excess loss over L*, and its sup-norm distance to the true row.

    `generalisation` is the mean over chains and contexts of sup_{s'} |f(s') - π(s' | context)|.
    """

    excess: float
    excess_error: float
    generalisation: float
    generalisation_error: float


class Standings(NamedTuple):
    """Predictors on the same fresh chains; `true_loss` is L* of these kernels."""

    true_loss: float
    standings: dict[str, Standing]


@gated
def evaluate(
    models: dict[str, Reduced], prior: Prior, key: Seed, *, length: int, epsilon: float, count: int = 1024
) -> Standings:
    """Every model next to the k-gram, the bag of k and, where it is known, the Bayes predictor.

    >>> from anyorder.papers.two_can.dynamics.reduced import initial
    >>> found = evaluate({"start": initial(length=16, a_2=0.0)}, Dirichlet(1, 2), jax.random.key(0),
    ...                  length=16, epsilon=1e-3, count=64)
    >>> list(found.standings)
    ['start', 'k-gram', 'Bayes']
    """
    drawn = chains.sample(prior, length=length, count=count, start="stationary", seed=key)
    # One program for all models of one kind, and one for the estimators.
    measured = {name: _model_scores(model, drawn, epsilon) for name, model in models.items()}
    entropy, estimated = _estimator_scores(prior, drawn, epsilon)
    measured |= {name: estimated[name] for name in ("k-gram", "bag of k", "Bayes") if name in estimated}
    standings = {
        name: Standing(*(float(value) for samples in scored for value in mean_and_error(samples)))
        for name, scored in measured.items()
    }
    return Standings(float(entropy), standings)


Scored = tuple[Float[Array, "*count"], Float[Array, "*count"]]


def _scored(predicted: Rows, rows: Rows, epsilon: float) -> Scored:
    """Excess loss, and the sup-norm distance averaged over contexts."""
    return excess(predicted, rows, epsilon), jnp.abs(predicted - rows).max(axis=1).mean()


@eqx.filter_jit
def _model_scores(model: Reduced, drawn: Chains, epsilon: float) -> Scored:
    size = drawn.truth.shape[-1]

    def one(pair: tuple[Array, Array]) -> Scored:
        predicted = model.predict(pair[0], all_contexts(model.order, size), size)
        return _scored(predicted, pair[1].reshape(-1, size), epsilon)

    return jax.lax.map(one, (drawn.tokens, drawn.kernels), batch_size=16)


@eqx.filter_jit
def _estimator_scores(prior: Prior, drawn: Chains, epsilon: float) -> tuple[Scalar, dict[str, Scored]]:
    order, size = prior.order, prior.alphabet_size
    bayes = bayes_rows(prior, drawn.tokens.shape[1])

    def one(pair: tuple[Array, Array]) -> tuple[Array, dict[str, Scored]]:
        rows, counts = pair[1].reshape(-1, size), followers(pair[0], order, size)
        found = {"k-gram": _scored(frequencies(counts), rows, epsilon)}
        if order > 1:  # for order one it is the k-gram
            found["bag of k"] = _scored(frequencies(bagged(counts, order)), rows, epsilon)
        if bayes is not None:  # nowhere zero, and measured unchanged
            found["Bayes"] = _scored(bayes(counts), rows, 0.0)
        return -excess(jnp.ones_like(rows), rows, 0.0), found  # Σ π log π, for logits of one

    entropies, found = jax.lax.map(one, (drawn.tokens, drawn.kernels), batch_size=16)
    return entropies.mean(), found
