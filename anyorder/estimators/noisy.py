"""The Bayes predictor under transition noise, by exact quadrature over one row of the kernel.

Given P_d, the observed chain has the kernel (1 - α)P_d + α/S, because every P_r is fresh with mean 1/S. The
rows of P_d are independent under the prior, so the posterior of one row needs only the counts of its own
context: an integral over the simplex, of dimension one for a binary alphabet.
"""

from __future__ import annotations

import math

import jax
import jax.numpy as jnp
import numpy as np
import scipy.special
from jaxtyping import Float

from anyorder.errors import require, shown
from anyorder.estimators import matching
from anyorder.estimators.counting import Number, where_full
from anyorder.estimators.result import Estimate, estimator
from anyorder.io.tokens import Tokens, with_size

#: Most quadrature nodes in memory; n nodes per axis are n^(S-1) in all.
MOST_NODES = 1 << 16


def simplex_rule(
    alphabet_size: int, nodes: int, concentration: float = 1.0
) -> tuple[Float[np.ndarray, "nodes symbols"], Float[np.ndarray, "nodes"]]:
    """Nodes and weights of a rule for Dirichlet(c, …, c), exact for polynomials up to degree 2·nodes - 1.

    Stick breaking: p_1 = t_1, p_2 = (1 - t_1)t_2, … with independent t_j ~ Beta(c, c·(S - j)), and a Gauss-Jacobi rule
    for each t_j.

    >>> points, weights = simplex_rule(3, 4)
    >>> [round(value, 12) for value in (weights @ points).tolist()]
    [0.333333333333, 0.333333333333, 0.333333333333]
    """
    points, weights = np.ones((1, 0)), np.ones(1)
    left = np.ones(1)
    for rest in range(alphabet_size - 1, 0, -1):
        roots, masses = scipy.special.roots_jacobi(nodes, concentration * rest - 1, concentration - 1)
        sticks, masses = (1 + roots) / 2, masses / masses.sum()
        points = np.repeat(points, nodes, axis=0)
        pieces = (left[:, None] * sticks).ravel()
        points = np.concatenate([points, pieces[:, None]], axis=1)
        left = (left[:, None] * (1 - sticks)).ravel()
        weights = (weights[:, None] * masses).ravel()
    return np.concatenate([points, left[:, None]], axis=1), weights


@estimator
def bayes_under_transition_noise(
    tokens: Tokens,
    *,
    order: int,
    alphabet_size: int | None = None,
    strength: Number,
    concentration: float = 1.0,
    nodes: int | None = None,
    alphabet: str | None = None,
) -> Estimate:
    """The Bayes predictor of the observed chain when transitions are perturbed with the given strength α.

    The integrands are polynomials in the row, of degree at most the length: the default number of nodes
    makes the quadrature exact. At α = 0 this is add-β smoothing with β the concentration.

    >>> tokens = [0, 1, 0, 1, 1, 0]
    >>> clean = bayes_under_transition_noise(tokens, order=1, alphabet_size=2, strength=0.0)
    >>> noisy = bayes_under_transition_noise(tokens, order=1, alphabet_size=2, strength=1.0)
    >>> [round(value, 12) for value in clean.probabilities[-1].tolist() + noisy.probabilities[-1].tolist()]
    [0.25, 0.75, 0.5, 0.5]
    """
    tokens, alphabet_size = with_size(tokens, order, alphabet_size, alphabet)
    if isinstance(strength, float | int):
        require(0 <= strength <= 1, f"transition noise strength is {strength}, must be between 0 and 1")
    exact = math.ceil((len(tokens) + 2) / 2)
    nodes = exact if nodes is None else nodes
    require(nodes >= 1, f"nodes is {nodes}, must be at least 1; omit it for an exact quadrature")
    total = nodes ** (alphabet_size - 1)
    require(
        total <= MOST_NODES,
        f"{nodes} nodes per axis over {alphabet_size} symbols are {shown(total)} in all, the limit is {MOST_NODES}; "
        "shorten the sequence or pass fewer nodes (then the quadrature is not exact)",
    )
    points, weights = simplex_rule(alphabet_size, nodes, concentration)
    mixed = jnp.asarray(strength, jnp.float64)
    rows = (1 - mixed) * jnp.asarray(points, jnp.float64) + mixed / alphabet_size
    counts = matching.counts(matching.window_matches(tokens, order), tokens, alphabet_size)
    log_likelihood = counts.astype(jnp.float64) @ jnp.log(rows).T  # (length, nodes)
    posterior = jax.nn.softmax(log_likelihood + jnp.log(jnp.asarray(weights, jnp.float64)), axis=1)
    return where_full(posterior @ rows, order)
