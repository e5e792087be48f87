"""`convolution`: k shifts, then one attention layer. A convolution of k + 1 taps replaces layer one of `k-head`.

The embedding has the token in k + 1 blocks, and the convolution delays the block `back_j` by j tokens: every row that
the head reads has its last k tokens in separate blocks. Nothing is packed, so every dtype supports every order. Rows
before the first are zero, so that a position without a full window has fewer than k agreements and never matches:
there is no gate.
"""

from __future__ import annotations

import numpy as np
from jaxtyping import Float

from anyorder.constructions import steps
from anyorder.constructions.certificate import Analysis, Request
from anyorder.constructions.construction import Construction
from anyorder.constructions.digits import digits
from anyorder.constructions.parts import assemble, fitting
from anyorder.constructions.steps import Step
from anyorder.constructions.stream import Stream
from anyorder.constructions.unrolled import matching_head
from anyorder.constructions.unrolled_proof import COMPARES
from anyorder.models import Layer, Transformer


def analyse(request: Request) -> Analysis:
    """At most k agreements of kappa each, a power of two: every addition rounds at most once."""
    k = float(request.order)
    return Analysis(margin=1.0, miss_units=2 * k, size=k, whole=True)


def convolution(request: Request, kappa: float) -> Transformer:
    """The weights, in float64."""
    k = request.order
    stream = fitting(request, blocks(request))
    match = matching_head(request, stream, kappa, digits(k, k, 1))
    return assemble(stream, Layer((match,), convolution=delays(request, stream)), constants=copies(request))


def blocks(request: Request) -> Stream:
    """`token`, its copies `back_1` … `back_k`, and `output`."""
    backs = (f"back_{j}" for j in range(1, request.order + 1))
    return Stream(**dict.fromkeys(("token", *backs, "output"), request.alphabet_size))


def copies(request: Request) -> dict[str, Float[np.ndarray, "symbols symbols"]]:
    """The one-hot token, repeated in every delayed block."""
    return {f"back_{j}": np.eye(request.alphabet_size) for j in range(1, request.order + 1)}


def delays(request: Request, stream: Stream) -> Float[np.ndarray, "taps d"]:
    """Tap 0 keeps the token, tap j delays `back_j` by j."""
    taps = [stream.vector(token=1.0), *(stream.vector(**{f"back_{j}": 1.0}) for j in range(1, request.order + 1))]
    return np.stack(taps)


def delay_step(order: int) -> Step:
    """The proof step of the convolution, shared with `recurrent`."""
    return Step(
        "Delay the token by 1 … k",
        "The embedding has the token k + 1 times. A causal convolution delays copy j by j tokens, with zeros before "
        "the sequence: every position has its last k tokens in separate blocks, without any attention.",
        "back_j(n) = e_{x_{n-j}},   j = 1 … k",
        "ours",
        {
            "embedding": "e_x in `token` and in `back_1` … `back_k`",
            "layers.0.convolution": "tap 0 is 1 in `token`, tap j is 1 in `back_j`",
        },
        tuple(steps.Block(f"x_(n-{j})", f"back_{j}", "convolution 1") for j in range(1, order + 1)),
        "window",
    )


def proof(request: Request) -> tuple[Step, ...]:
    """The proof steps: shifts, and their match."""
    return (
        delay_step(request.order),
        steps.match(
            f"The head{COMPARES} A position without a full window has less than k agreements.",
            "score(n, i) = kappa · #{j : x_{i-j} = x_{n-j+1}}",
            "after Nichani et al., layer 2",
            before="convolution 1",
            query="kappa times the current token and those at offsets 1 … k-1",
            key="the tokens at offsets 1 … k",
            layer=0,
        ),
        steps.count("Definition 2", layer=0),
    )


CONVOLUTION = Construction(
    name="convolution",
    title="k shifts by a convolution, then one attention layer",
    advice="Use it for any order in any dtype with a single head, if your architecture has a short convolution.",
    heads="1",
    dimension="(k + 2)S",
    parameters="d(2kS + 4S + k + 1) + kST",
    state="T(k + 1)S + kd",
    bounded="taps",
    margin="1",
    build=convolution,
    analyse=analyse,
    steps=proof,
    last_order=16,
    instead=(),
)
