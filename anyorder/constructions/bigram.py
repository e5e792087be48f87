"""`bigram`: Edelman et al., order 1, two attention layers without MLP, d = 3S.

Layer one copies the previous token, layer two attends to the positions preceded by the current token. As
published, position 0 has no previous token, attends to itself, and counts as a match of x_0: a bias. The gate
here is a value position at offset 0 that makes this one key negative; `gated=False` leaves it out.
"""

from __future__ import annotations

from anyorder.constructions import steps
from anyorder.constructions.certificate import Analysis, Request
from anyorder.constructions.construction import Construction, Option
from anyorder.constructions.parts import assemble, vanishing_pull, window_head
from anyorder.constructions.steps import Step
from anyorder.constructions.stream import Stream
from anyorder.models import Head, Layer, Transformer


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


def proof(request: Request, gated: bool = True) -> tuple[Step, ...]:
    """The proof steps of Edelman et al."""
    return (
        Step(
            "Copy the previous token",
            "One head attends to offset 1. Position 0 can only attend to itself: the gate, a value position, "
            "makes this one key negative, so that it never matches. Without the gate it counts as a match of x_0.",
            "att(n, n-1) = 1,   previous_n = e_{x_{n-1}}",
            "Edelman et al., layer 1; the gate is ours",
            {
                "layers.0.heads.0.key_positions": "p^K: a pull at offset 1",
                "layers.0.heads.0.value": "writes e_x to `previous`",
            },
            (
                steps.Attention("attention of layer 1", 0, offsets=(1, 1)),
                steps.Block("previous token", "previous", "attention 1"),
            ),
            "window",
        ),
        steps.match(
            "Attend to the positions preceded by the current token.",
            "score(n, i) = kappa · <e_{x_n}, e_{x_{i-1}}>",
            "Edelman et al., layer 2",
            before="attention 1",
            query="kappa times `token`",
            key="reads `previous`",
            title="Find earlier occurrences of the token",
        ),
        steps.count("Edelman et al.; Definition 2 with k = 1"),
    )


BIGRAM = Construction(
    name="bigram",
    title="attention only, gated at position 0",
    source="Edelman et al.",
    advice="Use it for order 1: the smallest exact model, and the easiest to read.",
    dimension="3S",
    parameters="21S² + 3TS",
    state="T(7S + 1)",
    margin="1",
    build=bigram,
    analyse=analyse,
    steps=proof,
    options=(Option("gated", True, "gate at position 0; without it, as published, it counts as a match of x_0"),),
    largest_order=1,
    last_order=1,
)
