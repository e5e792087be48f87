"""`bayes`: a beginning token as a sink turns the k-gram into add-β smoothing, the Bayes predictor for β = 1.

On top of `dyadic`. In layer 2 the key of the beginning token scores as an exact match plus log(β S), and its
value is uniform over the alphabet: softmax then gives (count(s) + β) / (count + β S), which is uniform for
a context never seen. Windows that contain the beginning token are gated out. log(β S) is added to a
score of size kappa, and resolving it costs bits; `k-head-bayes` has exact scores and avoids this cost.
"""

from __future__ import annotations

import dataclasses
import math

from anyorder.constructions import dyadic, steps
from anyorder.constructions.certificate import Analysis, Request
from anyorder.constructions.construction import BETA
from anyorder.constructions.parts import anchor, assemble
from anyorder.constructions.steps import Step
from anyorder.constructions.stream import Stream
from anyorder.models import Head, Layer, Transformer


def analyse(request: Request, beta: float = 1.0) -> Analysis:
    """As for `dyadic`, but the sink competes with rounded matches, and p changes by 1/4 of a weight's relative error.

    A match has two roundings of its key, four of its query and as many of the dot product as it has symbols, the sink
    two.
    """
    derived = 8.0 + min(request.alphabet_size, request.order)
    return dataclasses.replace(
        dyadic.analyse(request), match_units=derived, measured=(6.0, derived), sensitivity=0.25, estimator="bayes"
    )


def bayes(request: Request, kappa: float, beta: float = 1.0) -> Transformer:
    """The weights, in float64."""
    s, m = request.alphabet_size, anchor(request)
    stream = Stream(gate=1, beginning=1, unused=1, token=s, oldest=s, query=s, window=s, key=s, output=s)
    first = dyadic.first_head(request, stream)
    # A window with the beginning token at offset k has gate 2^k - 2^k = 0, nearer than that a negative one.
    opening = stream.map(("beginning", "gate", -2.0 * (2**request.order - 1)))
    first = dataclasses.replace(first, value=first.value + opening)
    return assemble(
        stream,
        Layer((first,), dyadic.isolate_and_normalise(request, stream)),
        Layer((_matching_head(stream, kappa, beta),)),
        constants={"gate": m, "window": m},
        beginning=stream.vector(gate=m, window=m, beginning=1.0),
    )


def _matching_head(stream: Stream, kappa: float, beta: float) -> Head:
    """Score kappa · cos for tokens and kappa + log(β S) for the beginning token."""
    s = dict(stream.blocks)["token"]
    space = Stream(code=s, sink=1)
    return Head(
        query=stream.map(("query", "code", kappa), ("token", "sink", 1.0), to=space),
        key=stream.map(("key", "code", 1.0), ("beginning", "sink", kappa + math.log(beta * s)), to=space),
        value=stream.map(("token", "output", 1.0), ("beginning", "output", 1 / s)),
    )


def proof(request: Request, beta: float = 1.0) -> tuple[Step, ...]:
    """The proof steps of `dyadic`, with a sink."""
    return (
        *dyadic.code_steps(
            request.order, "p^V_k in `gate`; the beginning token, seen in a window, takes it away again"
        ),
        steps.match(
            "The beginning token ⊢ is a sink: its key scores as an exact match plus log(β S). Next to N matches it "
            "weighs β S, and in a context never seen it gets all attention.",
            "score(n, i) = kappa · cos(v_i, u_n),   score(n, ⊢) = kappa + log(β S)",
            "ours",
            before="mlp 1.3",
            query="kappa times `query`, and 1 for the sink",
            key="reads `key`; kappa + log(β S) in `beginning`",
            title="Find earlier occurrences of the window, with a sink",
        ),
        steps.smoothed_count(),
    )


BAYES = dataclasses.replace(
    dyadic.DYADIC,
    name="bayes",
    title="dyadic with a beginning token as sink: add-β smoothing",
    advice="Use it to study the Bayes predictor with three MLP layers, in float64.",
    parameters="7d² + d(T + 4S + 12) + T(S + 1)",
    state="T(3d + S + 1)",
    build=bayes,
    analyse=analyse,
    steps=proof,
    options=(BETA,),
    instead=("unrolled-bayes", "k-head-bayes"),
)
