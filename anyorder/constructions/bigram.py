"""`bigram`: Edelman et al., order 1, two attention layers and nothing else, d = 3S.

Layer one copies the previous token, layer two attends to where the previous token was the current one. As
published, position 0 has no previous token, attends to itself, and counts as a match of x_0: a bias. The gate
here is a value position at offset 0 that makes this one key negative; `gated=False` leaves it out.
"""

from __future__ import annotations

from anyorder.constructions.certificate import Analysis, Request
from anyorder.constructions.parts import assemble, vanishing_pull, window_head
from anyorder.constructions.stream import Stream
from anyorder.transformer import Head, Layer, Transformer


def analyse(request: Request, gated: bool = True) -> Analysis:
    """One-hot against one-hot; without the gate it is the biased estimator of order 1."""
    return Analysis(margin=1.0, miss_units=4.0, estimator="kgram" if gated else "biased")


def bigram(request: Request, kappa: float, gated: bool = True) -> Transformer:
    """The weights, in float64."""
    s = request.alphabet_size
    stream = Stream(token=s, previous=s, output=s)
    copy = window_head(
        stream,
        weights={1: 1.0},
        write="previous",
        scale=1.0,
        pull=vanishing_pull(request),
        positions={0: {"previous": -1.0}} if gated else None,
    )
    code = Stream(code=s)
    match = Head(
        query=stream.map(("token", "code", kappa), to=code),
        key=stream.map(("previous", "code", 1.0), to=code),
        value=stream.map(("token", "output", 1.0)),
    )
    return assemble(stream, Layer((copy,)), Layer((match,)))
