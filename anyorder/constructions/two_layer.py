"""`two-layer`: Theorem 3, App. B.1, and `two-layer-qk`: App. B.2, as printed, with errata corrected.

With base 3, the gate Z_n inside the score and one kappa for both, they compute over the reals the conditional k-gram
(B.2: a biased one, E7). In floating point the score kappa·(Z_i Z_n + cos) is of size kappa·9^k but
its margin is kappa·2·9^-k, so only small orders are exact, unlike with `dyadic`.
"""

from __future__ import annotations

import math

import numpy as np

from anyorder.constructions import steps
from anyorder.constructions.certificate import Analysis, Request, nearest_miss
from anyorder.constructions.construction import Construction
from anyorder.constructions.parts import assemble, direction, vanishing_pull, window_head
from anyorder.constructions.steps import Step
from anyorder.constructions.stream import Route, Stream
from anyorder.models import Head, Layer, MLPLayer, Transformer


def blocks(alphabet_size: int) -> Stream:
    """x_n = [Z_n, 0, 0, e_{x_n}, c, u_n, v_n, v_n/‖v_n‖, output], d = 6S + 3."""
    s = alphabet_size
    return Stream(gate=1, unused=2, token=s, oldest=s, query=s, window=s, key=s, output=s)


def code_total(order: int) -> int:
    """C_attn = 1 + 3 + … + 3^(k-1)."""
    return (3**order - 1) // 2


def analyse(request: Request) -> Analysis:
    """Scores of size 1 + Z²; from order 3 on, Z_n may differ in its last bits from position to position."""
    # Z_n with a full window is Σ_i 3^i · 3^(i-1) / C = 3/4 (3^k + 1) (the paper prints 3^(k+1)/5, E2)
    size = 1 + (0.75 * (3.0**request.order + 1)) ** 2
    k, shared = request.order, min(request.alphabet_size, request.order)
    margin = nearest_miss(code_total(k))
    keys = (4 * k + 2 * shared + 2) * size + shared + 4
    uneven = float(k > 2)  # a sum of two terms does not depend on their order
    return Analysis(
        margin,
        miss_units=keys + code_units(request, margin),
        match_units=uneven * keys,
        measured=(4 * size, uneven * size),
        size=size,
    )


def analyse_qk(request: Request) -> Analysis:
    """Openings are keys too and must be distinguished: codes of k and of m < k tokens, on the scale C_k · C_m."""
    k, shared = request.order, min(request.alphabet_size, request.order)
    margin = nearest_miss(code_total(k) * code_total(max(k - 1, 1)))
    keys, uneven = 4 * k + 3 * shared + 2, float(k > 2)
    return Analysis(
        margin,
        miss_units=keys + code_units(request, margin),
        match_units=uneven * keys,
        measured=(6.0, 6.0 * uneven),
        estimator="biased",
    )


def code_units(request: Request, margin: float) -> float:
    """Rounding in u of the weights of layer 1, common to all keys, and of the query; docs/certificates.md, Rounding."""
    k, shared = request.order, min(request.alphabet_size, request.order)
    exponent = vanishing_pull(request) + 2 * k * math.log(3) + 3
    return (9 * exponent + 5 * k + shared + 36) * math.sqrt(2 * margin)


def window(request: Request, stream: Stream) -> Head:
    """Layer 1: att_{n,n-i} = 3^(i-1) / C for i = 1 … k, p^V_i = 3^i in `gate`."""
    k = request.order
    return window_head(
        stream,
        weights={i: 3.0**i for i in range(1, k + 1)},
        write="window",
        scale=1.0,
        pull=vanishing_pull(request),
        positions={i: {"gate": 3.0**i} for i in range(k + 1)},
        width=stream.dimension,
    )


def isolate(request: Request, stream: Stream) -> MLPLayer:
    """W_mlp^(1): c = LN(ReLU(v_n - (3^(k-1) - 1) / 2C)) = e_{x_{n-k}}: all later tokens weigh no more."""
    threshold = (3 ** (request.order - 1) - 1) / (2 * code_total(request.order))
    return direction(stream, ("window", "oldest", 1.0), skip=0, oldest=-threshold)


def shift(order: int) -> tuple[Route, ...]:
    """W_mlp^(2): u_n = e_{x_n} / C + 3 v_n - 3^k / C · e_{x_{n-k}}."""
    c = code_total(order)
    return ("token", "query", 1 / c), ("window", "query", 3.0), ("oldest", "query", -(3.0**order) / c)


def matching_head(stream: Stream, kappa: float) -> Head:
    """Layer 2: score kappa · Z_i Z_n + kappa · cos(v_i, u_n), with √kappa in W_Q and in W_K.

    Columns are given by the named blocks; the paper's index of W_Q^(2) is off by one block of S.
    """
    symbols = dict(stream.blocks)["token"]
    space = Stream(gate=1, code=symbols, unused=stream.dimension - 1 - symbols)
    return Head(
        query=stream.map(("gate", "gate", kappa**0.5), ("query", "code", kappa**0.5), to=space),
        key=stream.map(("gate", "gate", kappa**0.5), ("key", "code", kappa**0.5), to=space),
        value=stream.map(("token", "output", 1.0)),
    )


def two_layer(request: Request, kappa: float) -> Transformer:
    """App. B.1: three MLP layers."""
    stream = blocks(request.alphabet_size)
    query = direction(stream, *shift(request.order), skip=0)  # the skip starts at the stack's input
    key = direction(stream, ("window", "key", 1.0), skip=2)  # W_mlp^(3): the identity reads the block of v_n (E4)
    mlp = (isolate(request, stream), query, key)
    return assemble(stream, Layer((window(request, stream),), mlp), Layer((matching_head(stream, kappa),)))


def two_layer_qk(request: Request, kappa: float) -> Transformer:
    """App. B.2: two MLP layers, the second linear and without skip; Q and K normalised after projection."""
    stream = blocks(request.alphabet_size)
    kept: list[Route] = [(name, name, 1.0) for name in ("gate", "unused", "token", "window")]
    combine = MLPLayer(stream.map(*kept, *shift(request.order)), stream.vector(), activation="none")
    return assemble(
        stream,
        Layer((window(request, stream),), (isolate(request, stream), combine)),
        Layer((cosine_head(stream, kappa, query="query", key="window"),)),
    )


def cosine_head(stream: Stream, kappa: float, *, query: str, key: str) -> Head:
    """Layer 2 of the qk variants: softmax of kappa · <LN(W_K x_i), LN(W_Q x_n)>."""
    symbols = dict(stream.blocks)["token"]
    space = Stream(code=symbols, unused=stream.dimension - symbols)
    return Head(
        query=stream.map((query, "code", 1.0), to=space),
        key=stream.map((key, "code", 1.0), to=space),
        value=stream.map(("token", "output", 1.0)),
        scale=np.asarray(kappa),
        normalise=True,
    )


def window_step(order: int, source: str, layer: int = 0, head: int = 0) -> Step:
    """The window of App. A and B: base 3, with the gate Z_n."""
    return steps.sum_window(
        order,
        weights="3^(i-1) / C",
        code="v_n = Σ att · e_{x_{n-i}},   C = (3^k - 1) / 2",
        source=source,
        layer=layer,
        head=head,
        gate="p^V_i = 3^i in `gate`: Z_n = ¾(3^k + 1) with a full window, less without (E2)",
        text=steps.window_text("3"),
    )


def gated_step(layer: int, before: str, source: str) -> Step:
    """The last layer of the constructions with the gate Z."""
    return steps.match(
        "The last layer compares the direction of the query with that of every key. Equal windows have equal "
        "directions; the gate Z keeps keys without a full window away. With kappa large, all weight goes to the "
        "matches, in equal shares.",
        "score(n, i) = kappa · Z_i Z_n + kappa · <v_i, u_n> / (‖v_i‖ ‖u_n‖)",
        source,
        layer=layer,
        before=before,
        query="√kappa times `gate` and `query`",
        key="√kappa times `gate` and `key`",
    )


def cosine_step(source: str, before: str, query: str) -> Step:
    """Layer 2 of the qk variants."""
    return steps.match(
        "Queries and keys are divided by their length inside layer 2. There is no gate: a partial window at the "
        "beginning is counted too if it has the direction of the query, the bias of this variant (E7).",
        "score(n, i) = kappa · <LN(W_K x_i), LN(W_Q x_n)>",
        source,
        before=before,
        query=f"reads `{query}`",
        key="reads `window`",
        scale="kappa",
    )


def normalise_step(read: str, name: str, write: str, place: int, layer: int, source: str) -> Step:
    """A layer of an MLP that keeps a direction."""
    return Step(
        f"Keep the direction of {name}",
        "Only directions are compared, so the norm divides by the length.",
        f"x + LN(ReLU(W x)):   {write} = {name} / ‖{name}‖",
        source,
        {f"layers.{layer}.mlp.{place}.weight": f"copies `{read}` to `{write}`"},
        (steps.Block(f"{name} / ‖{name}‖", write, f"mlp {layer + 1}.{place + 1}"),),
    )


_ISOLATED = "c = LN(ReLU(v_n - (3^(k-1) - 1) / 2C)) = e_{x_{n-k}}"
_SHIFTED = "u_n = e_{x_n} / C + 3 v_n - (3^k / C) e_{x_{n-k}}"


def proof(request: Request) -> tuple[Step, ...]:
    """The proof steps of App. B.1."""
    return (
        window_step(request.order, "App. B, layer 1: p^(1),K, p^(1),V, W_V^(1)"),
        steps.isolate(_ISOLATED, "App. B.1: W_mlp^(1), b_mlp^(1)"),
        steps.shift(_SHIFTED, "App. B.1: W_mlp^(2)"),
        normalise_step("window", "v_n", "key", 2, 0, "App. B.1: W_mlp^(3), reading v_n (E4)"),
        gated_step(1, "mlp 1.3", "App. B.1, layer 2: W_Q^(2), W_K^(2)"),
        steps.count("App. B.1: W_V^(2), W_o; Definition 2"),
    )


def proof_qk(request: Request) -> tuple[Step, ...]:
    """The proof steps of App. B.2."""
    return (
        window_step(request.order, "App. B, layer 1"),
        steps.isolate(_ISOLATED, "App. B.2: W_mlp^(1)"),
        steps.shift(_SHIFTED, "App. B.2: W_mlp^(2), linear, no skip", linear=True),
        cosine_step("App. B.2, layer 2: norms on Q and K", "mlp 1.2", "query"),
        steps.count("App. B.2: W_V^(2), W_o"),
    )


TWO_LAYER = Construction(
    name="two-layer",
    title="one head, three MLP layers, base 3",
    source="Theorem 3, App. B.1",
    advice="Use it to study the paper's own weights, at small orders in float64.",
    dimension="6S + 3",
    mlp=("3", "d"),
    parameters="9d² + d(2T + 2S + 9)",
    state="4dT",
    margin="≈ 2·9^-k",
    build=two_layer,
    kappa_power=0.5,
    analyse=analyse,
    steps=proof,
)

TWO_LAYER_QK = Construction(
    name="two-layer-qk",
    title="one head, two MLP layers, normalised Q and K",
    source="App. B.2",
    advice="Use it to see the bias caused by the missing gate (E7).",
    exactness="biased",
    dimension="6S + 3",
    mlp=("2", "d"),
    parameters="8d² + d(2T + 2S + 8)",
    state="4dT",
    margin="≥ 72·81^-k",
    build=two_layer_qk,
    analyse=analyse_qk,
    steps=proof_qk,
    # Its MLP computes the query from a full window *before* n, so it starts one position after the estimator.
    opening=1,
)
