"""The proofs of the paper: App. A and B, and Theorem 1."""

from __future__ import annotations

from anyorder.web.stories.steps import (
    KEY,
    QUERY,
    count,
    gated,
    isolate,
    match,
    normalise,
    recent_head,
    shift,
    sum_window,
)
from anyorder.web.story import Step


def paper_window(order: int, source: str, layer: int = 0, head: int = 0) -> Step:
    """The window of App. A and B: base 3, with the gate Z_n."""
    return sum_window(
        order,
        weights="3^(i-1) / C",
        code="v_n = Σ att · e_{x_{n-i}},   C = (3^k - 1) / 2",
        source=source,
        layer=layer,
        head=head,
        gate="p^V_i = 3^i in `gate`: Z_n = ¾(3^k + 1) with a full window, less without (E2)",
        base="3",
        anchored=False,
    )


def two_layer(order: int) -> tuple[Step, ...]:
    """App. B.1."""
    return (
        paper_window(order, "App. B, layer 1: p^(1),K, p^(1),V, W_V^(1)"),
        isolate("c = LN(ReLU(v_n - (3^(k-1) - 1) / 2C)) = e_{x_{n-k}}", "App. B.1: W_mlp^(1), b_mlp^(1)"),
        shift("u_n = e_{x_n} / C + 3 v_n - (3^k / C) e_{x_{n-k}}", "App. B.1: W_mlp^(2)"),
        normalise("window", "v_n", "key", 2, 0, "App. B.1: W_mlp^(3), reading v_n (E4)"),
        gated(1, "mlp 1.3", "App. B.1, layer 2: W_Q^(2), W_K^(2)"),
        count("App. B.1: W_V^(2), W_o; Definition 2"),
    )


_COSINE_TEXT = (
    "Queries and keys are divided by their length inside layer 2. There is no gate: a short opening that points the "
    "same way as the window is counted too, the bias of this variant (E7)."
)


def cosine(source: str, before: str, query: str) -> Step:
    """Layer 2 of the qk variants."""
    return match(
        _COSINE_TEXT,
        "score(n, i) = kappa · <LN(W_K x_i), LN(W_Q x_n)>",
        source,
        before=before,
        weights={
            QUERY.format(1): f"reads `{query}`",
            KEY.format(1): "reads `window`",
            "layers.1.heads.0.scale": "kappa",
        },
    )


def two_layer_qk(order: int) -> tuple[Step, ...]:
    """App. B.2."""
    return (
        paper_window(order, "App. B, layer 1"),
        isolate("c = LN(ReLU(v_n - (3^(k-1) - 1) / 2C)) = e_{x_{n-k}}", "App. B.2: W_mlp^(1)"),
        shift("u_n = e_{x_n} / C + 3 v_n - (3^k / C) e_{x_{n-k}}", "App. B.2: W_mlp^(2), linear, no skip", linear=True),
        cosine("App. B.2, layer 2: norms on Q and K", "mlp 1.2", "query"),
        count("App. B.2: W_V^(2), W_o"),
    )


def two_head(order: int) -> tuple[Step, ...]:
    """App. A.2.1."""
    return (
        recent_head(order, 0, "App. A, layer 1, head 1"),
        paper_window(order, "App. A, layer 1, head 2", head=1),
        normalise("recent", "u_n", "query", 0, 0, "App. A.2.1: first MLP layer"),
        normalise("window", "v_n", "key", 1, 0, "App. A.2.1: second MLP layer"),
        gated(1, "mlp 1.2", "App. A.2.1, layer 2"),
        count("App. A.2.1: W_V^(2), W_o; Definition 2"),
    )


def two_head_qk(order: int) -> tuple[Step, ...]:
    """App. A.2.2."""
    return (
        recent_head(order, 0, "App. A, layer 1, head 1"),
        paper_window(order, "App. A, layer 1, head 2", head=1),
        cosine("App. A.2.2, layer 2: norms on Q and K", "attention 1", "recent"),
        count("App. A.2.2: W_V^(2), W_o"),
    )


def three_layer(order: int) -> tuple[Step, ...]:
    """Theorem 1."""
    return (
        recent_head(order, 0, "Theorem 1 (Rajaraman et al.), layer 1"),
        normalise("recent", "u_n", "query", 0, 0, "Theorem 1, MLP of layer 1"),
        paper_window(order, "Theorem 1, layer 2", layer=1),
        normalise("window", "v_n", "key", 0, 1, "Theorem 1, MLP of layer 2"),
        gated(2, "mlp 2.2", "Theorem 1, layer 3"),
        count("Theorem 1, layer 3: W_V, W_o", 2),
    )
