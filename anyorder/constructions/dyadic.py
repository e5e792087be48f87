"""`dyadic`: Theorem 3 adapted to floating point: base 2, a gate inside the MLP, codes that are exact integers.

The architecture is that of `two-layer`: two layers, one head each, three MLP layers, d = 6S + 3. The changes are

* the base: 2^(k-1) > 2^(k-2) + … + 1 suffices to isolate the oldest token, and codes are smaller;
* the unit: W_V is scaled by C = 2^k - 1, so that v_n = Σ_{i=1..k} 2^(i-1) e_{x_{n-i}} is integer;
* an anchor M in the embedding of the blocks that attention writes: M + v_n is so large that the last stored
  bit is 1/2, the residual addition itself rounds the softmax's small errors away, and every reader subtracts
  M exactly. Equal windows become bit-identical keys;
* the gate: p^V is non-zero at offset k only, so `gate` is 2^k with a full window and 0 without; the ReLU that
  forms the key turns keys without a full window into zero. Nothing is added to the score.

`bayes` adds a beginning token as a sink: add-β smoothing, the Bayes predictor for β = 1.
"""

from __future__ import annotations

import dataclasses
import math

from anyorder.constructions import steps
from anyorder.constructions.certificate import Analysis, Request, cosine_units, nearest_miss
from anyorder.constructions.construction import BETA, Construction
from anyorder.constructions.parts import anchor, assemble, direction, rounding_pull, window_head
from anyorder.constructions.steps import Step
from anyorder.constructions.stream import Stream
from anyorder.constructions.two_layer import blocks
from anyorder.models import Head, Layer, MLPLayer, Transformer


def analyse(request: Request) -> Analysis:
    """Codes add up to C = 2^k - 1, and two windows share at most min(S, k) symbols."""
    margin = nearest_miss(2**request.order - 1)
    derived = cosine_units(min(request.alphabet_size, request.order), margin)
    return Analysis(margin, miss_units=derived, measured=(6.0, 0.0), code_bits=request.order + 4)


def dyadic(request: Request, kappa: float) -> Transformer:
    """The weights, in float64."""
    stream = blocks(request.alphabet_size)
    m = anchor(request)
    return assemble(
        stream,
        Layer((first_head(request, stream),), isolate_and_normalise(request, stream)),
        Layer((matching_head(stream, kappa),)),
        constants={"gate": m, "window": m},
    )


def first_head(request: Request, stream: Stream) -> Head:
    """Layer 1: att_{n,n-i} = 2^(i-1) / C for i = 1 … k, hence v_n in `window`."""
    k, c = request.order, 2.0**request.order - 1
    return window_head(
        stream,
        weights={i: 2.0 ** (i - 1) for i in range(1, k + 1)},
        write="window",
        scale=c,
        pull=rounding_pull(request),
        # att_{n,n-k} = 2^(k-1) / C: times 2C this is 2^k, and without a full window there is no offset k.
        positions={k: {"gate": 2 * c}},
        width=stream.dimension,
    )


def isolate_and_normalise(request: Request, stream: Stream) -> tuple[MLPLayer, ...]:
    """The MLP of App. B.1, in units of 1/C and with the anchor subtracted by the biases."""
    k, m = request.order, anchor(request)
    return (
        # c = LN(ReLU(v - (2^(k-1) - 1))): only the oldest symbol has at least 2^(k-1), all others together less.
        direction(stream, ("window", "oldest", 1.0), skip=0, oldest=-(m + 2.0 ** (k - 1) - 1)),
        # u_n = e_{x_n} + 2 v_n - 2^k e_{x_{n-k}} = Σ_{i=0..k-1} 2^i e_{x_{n-i}}
        direction(
            stream,
            ("token", "query", 1.0),
            ("window", "query", 2.0),
            ("oldest", "query", -(2.0**k)),
            skip=0,
            query=-2 * m,
        ),
        # v_n + (gate - 2^k): v_n < 2^k, so that without a full window the ReLU gives zero
        direction(stream, ("window", "key", 1.0), ("gate", "key", 1.0), skip=2, key=-(2 * m + 2.0**k)),
    )


def matching_head(stream: Stream, kappa: float) -> Head:
    """Layer 2: score kappa · <v_i/‖v_i‖, u_n/‖u_n‖>; kappa is in W_Q, so that keys are not rounded twice."""
    space = Stream(code=dict(stream.blocks)["key"], unused=stream.dimension - dict(stream.blocks)["key"])
    return Head(
        query=stream.map(("query", "code", kappa), to=space),
        key=stream.map(("key", "code", 1.0), to=space),
        value=stream.map(("token", "output", 1.0)),
    )


def analyse_bayes(request: Request, beta: float = 1.0) -> Analysis:
    """As for `dyadic`, but the sink competes with rounded matches, and p changes by 1/4 of a weight's relative error.

    A match has two roundings in its key, four in its query and one per symbol in the dot product; the sink has two.
    """
    derived = 8.0 + min(request.alphabet_size, request.order)
    return dataclasses.replace(
        analyse(request), match_units=derived, measured=(6.0, derived), sensitivity=0.25, estimator="bayes"
    )


def bayes(request: Request, kappa: float, beta: float = 1.0) -> Transformer:
    """A beginning token as a sink: softmax gives (count(s) + β) / (count + β S), 1/S for a context never seen.

    In layer 2 the key of the beginning token scores as an exact match plus log(β S), and its value is uniform. Windows
    that contain it are gated out. log(β S) is added to a score of size kappa, so resolving it costs bits;
    `k-head-bayes` has exact scores and avoids this cost.
    """
    s, m = request.alphabet_size, anchor(request)
    stream = Stream(gate=1, beginning=1, unused=1, token=s, oldest=s, query=s, window=s, key=s, output=s)
    first = first_head(request, stream)
    # A window with the beginning token at offset k has gate 2^k - 2^k = 0, at smaller offsets a negative gate.
    opening = stream.map(("beginning", "gate", -2.0 * (2**request.order - 1)))
    first = dataclasses.replace(first, value=first.value + opening)
    return assemble(
        stream,
        Layer((first,), isolate_and_normalise(request, stream)),
        Layer((_sink_head(stream, kappa, beta),)),
        constants={"gate": m, "window": m},
        beginning=stream.vector(gate=m, window=m, beginning=1.0),
    )


def _sink_head(stream: Stream, kappa: float, beta: float) -> Head:
    """Score kappa · cos for tokens and kappa + log(β S) for the beginning token."""
    s = dict(stream.blocks)["token"]
    space = Stream(code=s, sink=1)
    return Head(
        query=stream.map(("query", "code", kappa), ("token", "sink", 1.0), to=space),
        key=stream.map(("key", "code", 1.0), ("beginning", "sink", kappa + math.log(beta * s)), to=space),
        value=stream.map(("token", "output", 1.0), ("beginning", "output", 1 / s)),
    )


def code_steps(order: int, gate: str) -> tuple[Step, ...]:
    """The proof steps of layer 1, shared with `bayes`."""
    return (
        steps.sum_window(
            order,
            weights="2^(i-1) / C",
            code="v_n = Σ_{i=1..k} 2^(i-1) e_{x_{n-i}},   C = 2^k - 1",
            source="ours, after App. B layer 1: base 2, W_V scaled by C",
            gate=gate,
            text=steps.window_text("2") + steps.ANCHORED,
        ),
        steps.isolate("c = LN(ReLU(v_n - (2^(k-1) - 1))) = e_{x_{n-k}}", "ours, after App. B.1: W_mlp^(1)"),
        steps.shift("u_n = e_{x_n} + 2 v_n - 2^k e_{x_{n-k}}", "ours, after App. B.1: W_mlp^(2)"),
        Step(
            "Keep the direction of v_n, if its window is full",
            "The gate is 2^k with a full window and 0 without. Adding it and subtracting 2^k leaves v_n or, without a "
            "full window, only negative numbers, for which the ReLU makes the key zero.",
            "key = LN(ReLU(v_n + gate - 2^k))",
            "ours, in the place of W_mlp^(3) and of Z_i Z_n",
            {
                "layers.0.mlp.2.weight": "reads `window` and `gate`, writes `key`",
                "layers.0.mlp.2.bias": "subtracts the constants and 2^k",
            },
            (steps.Inside("v_n + gate - 2^k", 0, 2, "key", "mlp 1.2"), steps.Block("key", "key", "mlp 1.3")),
        ),
    )


def proof(request: Request) -> tuple[Step, ...]:
    """The proof steps of Theorem 3, adapted to floating point."""
    return (
        *code_steps(request.order, "p^V_k = 2C in `gate` at offset k alone: 2^k with a full window, 0 without"),
        steps.match(
            "Layer 2 compares directions. Equal windows have bit-identical keys, so their attention is exactly equal; "
            "kappa makes all other attention vanish. Raise the temperature, and near misses get attention too.",
            "score(n, i) = kappa · <v_i / ‖v_i‖, u_n / ‖u_n‖>",
            "ours, after App. B.1 layer 2: kappa in W_Q alone, nothing added to the score",
            before="mlp 1.3",
            query="kappa times `query`",
            key="reads `key`",
        ),
        steps.count("App. B.1: W_V^(2), W_o; Definition 2"),
    )


def proof_bayes(request: Request, beta: float = 1.0) -> tuple[Step, ...]:
    """The proof steps of `dyadic`, with a sink."""
    return (
        *code_steps(request.order, "p^V_k in `gate`; a beginning token in the window cancels it"),
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


DYADIC = Construction(
    name="dyadic",
    title="two-layer with base 2, exact codes, gated in the MLP",
    advice="Use it for the paper's architecture at about five times the certified order of `two-layer`.",
    dimension="6S + 3",
    mlp=("3", "d"),
    parameters="9d² + d(2T + 2S + 9)",
    state="4dT",
    margin="≈ ½·4^-k",
    build=dyadic,
    analyse=analyse,
    steps=proof,
)

BAYES = dataclasses.replace(
    DYADIC,
    name="bayes",
    title="dyadic with a beginning token as sink: add-β smoothing",
    advice="Use it to study the Bayes predictor with three MLP layers, in float64.",
    parameters="7d² + d(T + 4S + 12) + T(S + 1)",
    state="T(3d + S + 1)",
    build=bayes,
    analyse=analyse_bayes,
    steps=proof_bayes,
    options=(BETA,),
    instead=("unrolled-bayes", "k-head-bayes"),
)
