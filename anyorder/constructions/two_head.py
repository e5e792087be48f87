"""`two-head`: Theorem 2, App. A.2.1, and `two-head-qk`: App. A.2.2. A second head replaces the isolation of a token."""

from __future__ import annotations

from anyorder.constructions import steps
from anyorder.constructions.certificate import Request
from anyorder.constructions.construction import Construction
from anyorder.constructions.parts import assemble, direction, vanishing_pull, window_head
from anyorder.constructions.steps import Step
from anyorder.constructions.stream import Stream
from anyorder.constructions.two_layer import (
    analyse,
    analyse_qk,
    cosine_head,
    cosine_step,
    gated_step,
    matching_head,
    normalise_step,
    window,
    window_step,
)
from anyorder.models import Head, Layer, MLPLayer, Transformer


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


def directions(stream: Stream) -> tuple[MLPLayer, ...]:
    """The MLP of App. A.2.1: u_n / ‖u_n‖ and v_n / ‖v_n‖."""
    return direction(stream, ("recent", "query", 1.0), skip=0), direction(stream, ("window", "key", 1.0), skip=1)


def two_head(request: Request, kappa: float) -> Transformer:
    """App. A.2.1: the MLP only normalises u_n and v_n."""
    stream = blocks(request.alphabet_size)
    return assemble(
        stream,
        Layer((recent_head(request, stream), window(request, stream)), directions(stream)),
        Layer((matching_head(stream, kappa),)),
    )


def two_head_qk(request: Request, kappa: float) -> Transformer:
    """App. A.2.2: no MLP; the second layer normalises its queries and keys."""
    stream = blocks(request.alphabet_size)
    return assemble(
        stream,
        Layer((recent_head(request, stream), window(request, stream))),
        Layer((cosine_head(stream, kappa, query="recent", key="window"),)),
    )


def recent_step(order: int, source: str) -> Step:
    """One head adds up the k tokens up to n."""
    return Step(
        "Write the last k tokens as one vector",
        "This head starts at offset 0: the same code, one token later. It becomes the query.",
        "att(n, n-i) = 3^i / C for i = 0 … k-1,   u_n = Σ att · e_{x_{n-i}}",
        source,
        {
            "layers.0.heads.0.key_positions": "p^K_i: i · log 3 plus a pull, at offsets 0 … k-1",
            "layers.0.heads.0.value": "writes e_x to the block `recent`",
        },
        (
            steps.Attention("attention of layer 1", 0, 0, offsets=(0, order - 1)),
            steps.Block("u_n", "recent", "attention 1"),
        ),
        "recent",
    )


def proof(request: Request) -> tuple[Step, ...]:
    """The proof steps of App. A.2.1."""
    return (
        recent_step(request.order, "App. A, layer 1, head 1"),
        window_step(request.order, "App. A, layer 1, head 2", head=1),
        normalise_step("recent", "u_n", "query", 0, 0, "App. A.2.1: first MLP layer"),
        normalise_step("window", "v_n", "key", 1, 0, "App. A.2.1: second MLP layer"),
        gated_step(1, "mlp 1.2", "App. A.2.1, layer 2"),
        steps.count("App. A.2.1: W_V^(2), W_o; Definition 2"),
    )


def proof_qk(request: Request) -> tuple[Step, ...]:
    """The proof steps of App. A.2.2."""
    return (
        recent_step(request.order, "App. A, layer 1, head 1"),
        window_step(request.order, "App. A, layer 1, head 2", head=1),
        cosine_step("App. A.2.2, layer 2: norms on Q and K", "attention 1", "recent"),
        steps.count("App. A.2.2: W_V^(2), W_o"),
    )


TWO_HEAD = Construction(
    name="two-head",
    title="two heads in layer one, two MLP layers",
    source="Theorem 2, App. A.2.1",
    advice="Use it to study the paper's second head, which replaces the isolation of the oldest token.",
    heads="2, 1",
    dimension="6S + 3",
    mlp=("2", "d"),
    parameters="11d² + d(3T + 2S + 6)",
    state="6dT",
    margin="≈ 2·9^-k",
    build=two_head,
    kappa_power=0.5,
    analyse=analyse,
    steps=proof,
)

TWO_HEAD_QK = Construction(
    name="two-head-qk",
    title="two heads in layer one, normalised Q and K, no MLP",
    source="App. A.2.2",
    advice="Use it to see the same bias without an MLP; `attention-only` needs neither the bias nor the second head.",
    exactness="biased",
    heads="2, 1",
    dimension="6S + 3",
    parameters="9d² + d(3T + 2S + 4)",
    state="6dT",
    margin="≥ 72·81^-k",
    build=two_head_qk,
    analyse=analyse_qk,
    steps=proof_qk,
)
