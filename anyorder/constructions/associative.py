"""`associative`: Bietti et al., order 1. Tokens and positions are random vectors, weights sums of outer products.

Random vectors are not exactly orthogonal, so the error falls like 1/√d instead of being zero. The matrices
Σ_t p_t p_{t-1}^T and Σ_s e_s (W_1 e_s)^T are stored as their two factors: the queries and keys of the heads.
"""

from __future__ import annotations

import math

import numpy as np

from anyorder.constructions import steps
from anyorder.constructions.certificate import Request
from anyorder.constructions.construction import Construction, Option
from anyorder.constructions.steps import Step
from anyorder.models import Head, Layer, Transformer

_PULL = 20.0


def default_kappa(request: Request) -> float:
    """The kappa for a leakage of 1/10: a larger one would amplify noise in the scores more than it reduces leakage."""
    return math.log(10 * request.length)


def associative(request: Request, kappa: float, dimension: int = 1024, seed: int = 0) -> Transformer:
    """The weights, in float64, from the seed."""
    s, t, d = request.alphabet_size, request.length, dimension
    rng = np.random.default_rng(seed)

    def draw(rows: int) -> np.ndarray:
        return rng.normal(size=(rows, d)) / math.sqrt(d)  # rows of length about 1, nearly orthogonal

    tokens, places, first, second = draw(s), draw(t), draw(d), draw(d)
    # W_K^(1) = Σ_t p_{t-1} p_t^T: each position attends to the previous one; the value is W_1 x
    previous = Head(query=_PULL * places[1:], key=places[:-1], value=first)
    # W_K^(2) = Σ_s (W_1 e_s) e_s^T: attend to positions preceded by the current token; the value is W_2 x
    match = Head(query=kappa * tokens, key=tokens @ first.T, value=second)
    return Transformer(
        embedding=tokens,
        layers=(Layer((previous,)), Layer((match,))),
        # W_o = Σ_s e_s (W_2 e_s)^T
        output=tokens @ second.T,
        positions=places,
        output_map="relu",
    )


def proof(request: Request, dimension: int = 1024, seed: int = 0) -> tuple[Step, ...]:
    """The proof steps of Bietti et al."""
    return (
        Step(
            "Attend to the previous position",
            "Positions are random vectors that are nearly orthogonal. The product of queries and keys stores the pairs "
            "of p_t and p_(t-1), so that n attends to n - 1, up to noise that falls with the dimension.",
            "W_K^(1) = Σ_t p_t p_(t-1)^T",
            "Bietti et al., layer 1",
            {
                "positions": "the random vectors p_t",
                "layers.0.heads.0.query": "one factor of the memory",
                "layers.0.heads.0.key": "the other factor",
            },
            (steps.Attention("attention of layer 1", 0, offsets=(1, 1)),),
            "window",
        ),
        steps.match(
            "Attend to the positions preceded by the current token. Random vectors are not exactly orthogonal, so "
            "misses keep some weight: the construction is approximate by design.",
            "W_K^(2) = Σ_s e_s (W_1 e_s)^T",
            "Bietti et al., layer 2",
            before="attention 1",
            query="kappa times the embeddings",
            key="the remapped embeddings W_1 e_s",
            title="Find earlier occurrences of the token",
        ),
        Step(
            "Read the next token",
            "The output memory turns the remapped token back into its symbol.",
            "W_o = Σ_s e_s (W_2 e_s)^T",
            "Bietti et al., output",
            {"layers.1.heads.0.value": "W_2", "output": "the output memory"},
            (steps.Prediction(),),
            "counts",
        ),
    )


ASSOCIATIVE = Construction(
    name="associative",
    title="random embeddings, error falls with d",
    source="Bietti et al.",
    advice="Use it to study an associative memory; it is approximate by design and has no certificate.",
    exactness="approximate",
    dimension="any",
    parameters="9d² + dS + Td",
    state="T(2d + T + S - 1)",
    bounded="",
    build=associative,
    steps=proof,
    options=(
        Option("dimension", 1024, "width of the random vectors", least=1, most=8192, usual="1024 is usual"),
        Option("seed", 0, "seed of the random vectors", least=0),
    ),
    default_kappa=default_kappa,
    largest_order=1,
    last_order=1,
)
