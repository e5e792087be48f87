"""`associative`: Bietti et al., order 1. Tokens and positions are random vectors, weights sums of products.

Nothing is exactly orthogonal, so the error falls like 1/√d instead of being zero. The matrices
Σ_t p_t p_{t-1}^T and Σ_s e_s (W_1 e_s)^T are kept as their two factors: the queries and keys of the heads.
"""

from __future__ import annotations

import math

import jax.numpy as jnp
import numpy as np

from anyorder.constructions.certificate import Request
from anyorder.errors import require
from anyorder.transformer import Head, Layer, Transformer

_PULL = 20.0


def default_kappa(request: Request) -> float:
    """Leakage 1/10: a larger kappa would make more of the noise between scores than it saves."""
    return math.log(10 * request.length)


def associative(request: Request, kappa: float, dimension: int = 1024, seed: int = 0) -> Transformer:
    """The weights, in float64, from the seed."""
    require(1 <= dimension <= 8192, f"dimension is {dimension}, must be 1 to 8192; 1024 is usual")
    s, t, d = request.alphabet_size, request.length, dimension
    rng = np.random.default_rng(seed)

    def draw(rows: int) -> np.ndarray:
        return rng.normal(size=(rows, d)) / math.sqrt(d)  # rows of length about 1, nearly orthogonal

    tokens, places, first, second = draw(s), draw(t), draw(d), draw(d)
    # W_K^(1) = Σ_t p_{t-1} p_t^T: each position asks for the one before it; the value is W_1 x
    previous = Head(query=jnp.asarray(_PULL * places[1:]), key=jnp.asarray(places[:-1]), value=jnp.asarray(first))
    # W_K^(2) = Σ_s (W_1 e_s) e_s^T: the current token asks where it was the previous one; the value is W_2 x
    match = Head(query=jnp.asarray(kappa * tokens), key=jnp.asarray(tokens @ first.T), value=jnp.asarray(second))
    return Transformer(
        embedding=jnp.asarray(tokens),
        layers=(Layer((previous,)), Layer((match,))),
        # W_o = Σ_s e_s (W_2 e_s)^T
        output=jnp.asarray(tokens @ second.T),
        positions=jnp.asarray(places),
        output_map="relu",
    )
