"""`two-head`: Theorem 2, App. A.2.1, and `two-head-qk`: App. A.2.2. A second head saves isolating a token."""

from __future__ import annotations

from anyorder.constructions.certificate import Request
from anyorder.constructions.parts import assemble, vanishing_pull, window_head
from anyorder.constructions.stream import Stream
from anyorder.constructions.two_layer import cosine_head, matching_head, window
from anyorder.transformer import Head, Layer, MLPLayer, Transformer, UnitNorm


def blocks(alphabet_size: int) -> Stream:
    """x_n = [Z_n, 0, 0, e_{x_n}, u_n, u_n/‖u_n‖, v_n, v_n/‖v_n‖, output], d = 6S + 3."""
    s = alphabet_size
    return Stream(gate=1, unused=2, token=s, recent=s, query=s, window=s, key=s, output=s)


def recent_head(request: Request, stream: Stream) -> Head:
    """Head 1: att_{n,n-i} = 3^i / C for i = 0 … k-1, hence u_n; W_V hides its value positions: none here."""
    return window_head(
        stream,
        weights={i: 3.0**i for i in range(request.order)},
        write="recent",
        scale=1.0,
        pull=vanishing_pull(request),
        width=stream.dimension,
    )


def normalise(stream: Stream, read: str, write: str, skip: int) -> MLPLayer:
    """x + LN(ReLU(W x)) with W a copy from one block to another: the direction of what was read."""
    return MLPLayer(stream.map((read, write, 1.0)), stream.vector(), norm=UnitNorm(), skip=skip)


def two_head(request: Request, kappa: float) -> Transformer:
    """App. A.2.1: the MLP only normalises u_n and v_n."""
    stream = blocks(request.alphabet_size)
    mlp = (normalise(stream, "recent", "query", 0), normalise(stream, "window", "key", 1))
    return assemble(
        stream,
        Layer((recent_head(request, stream), window(request, stream)), mlp),
        Layer((matching_head(stream, kappa, gated=True),)),
    )


def two_head_qk(request: Request, kappa: float) -> Transformer:
    """App. A.2.2: no MLP; the second layer normalises its queries and keys."""
    stream = blocks(request.alphabet_size)
    return assemble(
        stream,
        Layer((recent_head(request, stream), window(request, stream))),
        Layer((cosine_head(stream, kappa, query="recent", key="window"),)),
    )
