"""`k-head`: heads instead of bits. Head j of layer one copies the token at offset j into a block of its own.

d = (k + 2) S + 1. Layer two compares block by block, so that its score is the number of tokens that agree:
the margin is 1 whatever k is. `k-head-bayes` adds the sink of `bayes`; scores are whole multiples of kappa
here, so that β S is seen exactly, in every dtype.
"""

from __future__ import annotations

import dataclasses
import math

from anyorder.constructions.certificate import Analysis, Request
from anyorder.constructions.parts import assemble, vanishing_pull
from anyorder.constructions.stream import Route, Stream
from anyorder.errors import require
from anyorder.transformer import Head, Layer, Transformer


def analyse(request: Request) -> Analysis:
    """At most k + 1 agreements, each worth kappa = a power of two: sums of them round at most once each."""
    agreements = request.order + 1.0
    return Analysis(margin=1.0, miss_units=2.0 * agreements, size=agreements, whole=True)


def analyse_bayes(request: Request, beta: float = 1.0) -> Analysis:
    """As `k-head`; the sink is rounded in log(β S) and in exp, and moves p by 1/4 of that at most."""
    require(beta > 0, f"beta is {beta}, must be above 0; 1 is Bayes-optimal for Dirichlet(1) rows")
    sink = (abs(math.log(beta * request.alphabet_size)) + 2) / 4
    return dataclasses.replace(analyse(request), output_units=4 + sink, estimator="bayes")


def k_head(request: Request, kappa: float) -> Transformer:
    """`gate` is 1 with a full window: one agreement more, so that no partial window reaches a full match."""
    stream = blocks(request, "gate")
    match = matching_head(request, stream, kappa, query=[("token", "extra", kappa)], key=[("gate", "extra", 1.0)])
    return assemble(stream, Layer(copying_heads(request, stream, gate="gate")), Layer((match,)))


def k_head_bayes(request: Request, kappa: float, beta: float = 1.0) -> Transformer:
    """A match scores kappa·k - kappa·k = 0, the beginning token log(β S).

    A window with the beginning token has a zero block there, so it needs no gate.
    """
    k, s, stream = request.order, request.alphabet_size, blocks(request, "beginning")
    match = matching_head(
        request,
        stream,
        kappa,
        query=[("token", "extra", 1.0)],
        key=[("token", "extra", -kappa * k), ("beginning", "extra", math.log(beta * s))],
        value=(("beginning", "output", 1 / s),),
    )
    return assemble(
        stream,
        Layer(copying_heads(request, stream)),
        Layer((match,)),
        beginning=stream.vector(beginning=1.0),
    )


def blocks(request: Request, extra: str) -> Stream:
    """`token`, a block `back_j` for the token at each offset j, `output`, and one coordinate."""
    s, backs = (
        request.alphabet_size,
        {f"back_{j}": request.alphabet_size for j in range(1, request.order + 1)},
    )
    return Stream(**{extra: 1}, token=s, **backs, output=s)


def copying_heads(request: Request, stream: Stream, gate: str | None = None) -> tuple[Head, ...]:
    """Head j attends to offset j alone and writes that token to `back_j`; head k also writes 1 to `gate`."""
    k, space, values = request.order, Stream(score=1), Stream(token=request.alphabet_size, gate=1)
    return tuple(
        Head(
            query=stream.map(("token", "score", 1.0), to=space),
            key=stream.map(to=space),
            value=stream.map(("token", "token", 1.0), to=values),
            projection=values.map(("token", f"back_{j}", 1.0), *([("gate", gate, 1.0)] if gate else []), to=stream),
            key_positions=space.table({j: {"score": vanishing_pull(request)}}),
            value_positions=values.table({k: {"gate": float(j == k)}}),
        )
        for j in range(1, k + 1)
    )


def matching_head(
    request: Request,
    stream: Stream,
    kappa: float,
    *,
    query: list[Route],
    key: list[Route],
    value: tuple[Route, ...] = (),
) -> Head:
    """Agreements x_{n-j+1} = x_{i-j}, j = 1 … k, kappa each; further routes go through `extra`."""
    s, k = request.alphabet_size, request.order
    space = Stream(extra=1, **{f"back_{j}": s for j in range(1, k + 1)})
    current: list[Route] = [("token", "back_1", kappa)]
    current += [(f"back_{j - 1}", f"back_{j}", kappa) for j in range(2, k + 1)]
    before: list[Route] = [(f"back_{j}", f"back_{j}", 1.0) for j in range(1, k + 1)]
    output = Stream(output=s)
    return Head(
        query=stream.map(*current, *query, to=space),
        key=stream.map(*before, *key, to=space),
        value=stream.map(("token", "output", 1.0), *value, to=output),
        projection=output.map(("output", "output", 1.0), to=stream),
    )
