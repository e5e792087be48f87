"""`attention-only`: two attention layers, no MLP, d = 3S + 1.

The *most recent* token has the largest weight, v_n = Σ_{i=1..k} b^(k-i) e_{x_{n-i}}. The query needs no
second representation: q_n = b^k e_{x_n} + v_n = b·u_n + e_{x_{n-k}}, where u_n has the form of a key, and
with normalised Q and K the cosine of q_n and v_i is largest exactly where v_i = u_n, for every base b > 2.
An anchor in the stream makes the integers of the code exact, as in `dyadic`; here W_Q and W_K
subtract it through the one-hot token, whose coordinates sum to one.
"""

from __future__ import annotations

import math

import numpy as np

from anyorder.constructions import steps
from anyorder.constructions.certificate import Analysis, Request, cosine_units
from anyorder.constructions.construction import Construction
from anyorder.constructions.parts import anchor, assemble, rounding_pull, window_head
from anyorder.constructions.steps import Step
from anyorder.constructions.stream import Stream
from anyorder.models import Head, Layer, Transformer

#: The smallest integer above 2: a larger base has smaller margins from order 2 on.
BASE = 3


def code_total(order: int) -> int:
    """C = 1 + b + … + b^(k-1)."""
    return (BASE**order - 1) // (BASE - 1)


def analyse(request: Request) -> Analysis:
    """cos(q, match) - cos(q, miss) ≥ (b - 2) / (2C (bC + 1)); equality in the limit of long windows."""
    c = code_total(request.order)
    return Analysis(
        margin=(BASE - 2) / (2 * c * (BASE * c + 1)),
        # the query's error is multiplied by a difference of directions below the margin: 3/C units of it are left
        miss_units=cosine_units(min(request.alphabet_size, request.order), 0.0) + 3 / c,
        measured=(6.0, 0.0),
        code_bits=math.ceil(request.order * math.log2(BASE)) + 4,
    )


def attention_only(request: Request, kappa: float) -> Transformer:
    """The weights, in float64."""
    k, s, c, m = request.order, request.alphabet_size, code_total(request.order), anchor(request)
    stream = Stream(gate=1, token=s, window=s, output=s)
    ones, space = np.ones((s, s)), Stream(code=s)
    window = window_head(
        stream,
        weights={i: float(BASE ** (k - i)) for i in range(1, k + 1)},
        write="window",
        scale=float(c),
        pull=rounding_pull(request),
        # att_{n,n-k} = 1 / C: times C² this is C, and without a full window there is no offset k.
        positions={k: {"gate": float(c) ** 2}},
    )
    match = Head(
        # q_n = b^k e_{x_n} + v_n
        query=stream.map(("token", "code", BASE**k * np.eye(s) - m * ones), ("window", "code", 1.0), to=space),
        # v_i + (gate - C): v_i with a full window; without one no coordinate is positive, no query near
        key=stream.map(
            ("window", "code", 1.0), ("gate", "code", 1.0), ("token", "code", -(2 * m + c) * ones), to=space
        ),
        value=stream.map(("token", "output", 1.0)),
        scale=np.asarray(kappa),
        normalise=True,
    )
    return assemble(stream, Layer((window,)), Layer((match,)), constants={"gate": m, "window": m})


def proof(request: Request) -> tuple[Step, ...]:
    """The proof steps: the code of the window, with the largest weight on the newest token, and its match."""
    return (
        steps.sum_window(
            request.order,
            weights="3^(k-i) / C",
            code="v_n = Σ_{i=1..k} 3^(k-i) e_{x_{n-i}},   C = (3^k - 1) / 2",
            source="ours: the weights of App. B in the opposite order",
            gate="p^V_k = C² in `gate` at offset k alone: C with a full window, 0 without",
            text="One head attends to the k tokens before n, and the *newest* weighs most: each older one a third of "
            "the one after it." + steps.ANCHORED,
        ),
        steps.match(
            "No MLP is needed. The query is a linear map of the stream: it moves v_n one place and puts the current "
            "token on top. The token at offset k is still in it, but as the last digit: its weight is too small to "
            "turn the query to another key.",
            "q_n = 3^k e_{x_n} + v_n = 3 u_n + e_{x_{n-k}},   score = kappa · cos(q_n, v_i)",
            "ours; the margin is Lemma 2 of the certificates",
            before="attention 1",
            query="3^k times `token` plus `window`, minus the constant M",
            key="`window` plus `gate`, minus 2M + C: no positive coordinate without a full window",
            scale="kappa",
        ),
        steps.count("App. B.1: W_V^(2), W_o; Definition 2"),
    )


ATTENTION_ONLY = Construction(
    name="attention-only",
    title="no MLP, the most recent token weighs most",
    advice="Use it for small orders without an MLP; an unseen context falls back to its longest known suffix.",
    dimension="3S + 1",
    parameters="2d² + d(4S + 6) + T(S + 1)",
    state="T(2d + S + 1)",
    margin="≈ ⅔·9^-k",
    build=attention_only,
    analyse=analyse,
    steps=proof,
)
