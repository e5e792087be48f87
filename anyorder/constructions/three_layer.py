"""`three-layer`: Rajaraman et al., the paper's Theorem 1: u_n in layer one, v_n in two, the match in three.

Each layer has two MLP layers, as in the parameter table of App. I; one of each pair has nothing to do.
Key positions are i·log 3 + kappa: with kappa·(i + 1)·log 3, as often quoted, attention is one-hot (E11).
"""

from __future__ import annotations

from anyorder.constructions.certificate import Request
from anyorder.constructions.parts import assemble
from anyorder.constructions.stream import Stream
from anyorder.constructions.two_head import blocks, normalise, recent_head
from anyorder.constructions.two_layer import matching_head, window
from anyorder.transformer import Layer, MLPLayer, Transformer, UnitNorm


def three_layer(request: Request, kappa: float) -> Transformer:
    """Three layers with one head each."""
    stream = blocks(request.alphabet_size)
    return assemble(
        stream,
        Layer((recent_head(request, stream),), (normalise(stream, "recent", "query", 0), idle(stream, 1))),
        Layer((window(request, stream),), (normalise(stream, "window", "key", 0), idle(stream, 1))),
        Layer((matching_head(stream, kappa, gated=True),), (idle(stream, 0), idle(stream, 1))),
    )


def idle(stream: Stream, skip: int) -> MLPLayer:
    """A layer with zero weights: only its skip connection is used."""
    return MLPLayer(stream.map(), stream.vector(), norm=UnitNorm(), skip=skip)
