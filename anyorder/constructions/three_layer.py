"""`three-layer`: Rajaraman et al., the paper's Theorem 1: u_n in layer one, v_n in two, the match in three.

Each layer has two MLP layers, as in the parameter table of App. I; one of each pair is the identity.
Key positions are i·log 3 + kappa: with kappa·(i + 1)·log 3, as often quoted, attention is one-hot.
"""

from __future__ import annotations

from anyorder.constructions import steps
from anyorder.constructions.certificate import Request
from anyorder.constructions.construction import Construction
from anyorder.constructions.parts import assemble, direction
from anyorder.constructions.steps import Step
from anyorder.constructions.two_head import blocks, recent_head, recent_step
from anyorder.constructions.two_layer import analyse, gated_step, matching_head, normalise_step, window, window_step
from anyorder.models import Layer, Transformer


def three_layer(request: Request, kappa: float) -> Transformer:
    """Three layers with one head each."""
    stream = blocks(request.alphabet_size)
    query, key = direction(stream, ("recent", "query", 1.0), skip=0), direction(stream, ("window", "key", 1.0), skip=0)
    idle = direction(stream, skip=1)
    return assemble(
        stream,
        Layer((recent_head(request, stream),), (query, idle)),
        Layer((window(request, stream),), (key, idle)),
        Layer((matching_head(stream, kappa),), (direction(stream, skip=0), idle)),
    )


def proof(request: Request) -> tuple[Step, ...]:
    """The proof steps of Theorem 1."""
    return (
        recent_step(request.order, "Theorem 1 (Rajaraman et al.), layer 1"),
        normalise_step("recent", "u_n", "query", 0, 0, "Theorem 1, MLP of layer 1"),
        window_step(request.order, "Theorem 1, layer 2", layer=1),
        normalise_step("window", "v_n", "key", 0, 1, "Theorem 1, MLP of layer 2"),
        gated_step(2, "mlp 2.2", "Theorem 1, layer 3"),
        steps.count("Theorem 1, layer 3: W_V, W_o", 2),
    )


THREE_LAYER = Construction(
    name="three-layer",
    title="one head, two MLP layers each",
    source="Rajaraman et al., Theorem 1",
    advice="Use it to compare depth with width: a third layer replaces the second head of `two-head`.",
    heads="1, 1, 1",
    dimension="6S + 3",
    mlp=("2, 2, 2", "d"),
    parameters="15d² + d(3T + 2S + 12)",
    state="6dT",
    bounded="",
    margin="≈ 2·9^-k",
    build=three_layer,
    kappa_power=0.5,
    analyse=analyse,
    steps=proof,
    norm_vectors=1,
)
