"""The proofs of `dyadic`, `bayes` and `attention-only`."""

from __future__ import annotations

import dataclasses

from anyorder.web.stories.sentences import smoothed_here
from anyorder.web.stories.steps import KEY, QUERY, count, isolate, match, shift, sum_window
from anyorder.web.story import Step, block, inside


def dyadic_code(order: int, gate: str) -> tuple[Step, ...]:
    """The code of `dyadic`, which `bayes` shares."""
    return (
        sum_window(
            order,
            weights="2^(i-1) / C",
            code="v_n = Σ_{i=1..k} 2^(i-1) e_{x_{n-i}},   C = 2^k - 1",
            source="ours, after App. B layer 1: base 2, W_V scaled by C",
            gate=gate,
            base="2",
            anchored=True,
        ),
        isolate("c = LN(ReLU(v_n - (2^(k-1) - 1))) = e_{x_{n-k}}", "ours, after App. B.1: W_mlp^(1)"),
        shift("u_n = e_{x_n} + 2 v_n - 2^k e_{x_{n-k}}", "ours, after App. B.1: W_mlp^(2)"),
        Step(
            "Keep the direction of v_n, if its window is full",
            "The gate is 2^k with a full window and 0 without. Adding it and taking 2^k off leaves v_n, or nothing "
            "that a ReLU lets through: a key without a full window is zero.",
            "key = LN(ReLU(v_n + gate - 2^k))",
            "ours, in the place of W_mlp^(3) and of Z_i Z_n",
            {
                "layers.0.mlp.2.weight": "reads `window` and `gate`, writes `key`",
                "layers.0.mlp.2.bias": "takes the constants and 2^k off",
            },
            (inside("v_n + gate - 2^k", 0, 2, "key", "mlp 1.2"), block("key", "key", "mlp 1.3")),
        ),
    )


def dyadic(order: int) -> tuple[Step, ...]:
    """Theorem 3 made for floating point."""
    return (
        *dyadic_code(order, "p^V_k = 2C in `gate` at offset k alone: 2^k with a full window, 0 without"),
        match(
            "Layer 2 compares directions. Equal windows are bit-identical keys, so their attention is exactly equal; "
            "kappa makes the rest vanish. Turn the temperature up and watch neighbours come in.",
            "score(n, i) = kappa · <v_i / ‖v_i‖, u_n / ‖u_n‖>",
            "ours, after App. B.1 layer 2: kappa in W_Q alone, nothing added to the score",
            before="mlp 1.3",
            weights={QUERY.format(1): "kappa times `query`", KEY.format(1): "reads `key`"},
        ),
        count("App. B.1: W_V^(2), W_o; Definition 2"),
    )


def bayes(order: int) -> tuple[Step, ...]:
    """`dyadic` with a sink."""
    return (
        *dyadic_code(order, "p^V_k in `gate`; the beginning token, seen in a window, takes it away again"),
        match(
            "The beginning token ⊢ is a sink: its key scores as an exact match plus log(β S). Next to N matches it "
            "weighs β S, and for a context never seen it is all there is.",
            "score(n, i) = kappa · cos(v_i, u_n),   score(n, ⊢) = kappa + log(β S)",
            "ours",
            before="mlp 1.3",
            weights={
                QUERY.format(1): "kappa times `query`, and 1 for the sink",
                KEY.format(1): "reads `key`; kappa + log(β S) in `beginning`",
            },
            title="Find the same window, next to a sink",
        ),
        count("ours: β = 1 is the Bayes predictor for Dirichlet(1) rows", here=smoothed_here, sink=True),
    )


def attention_only(order: int) -> tuple[Step, ...]:
    """No MLP."""
    window = sum_window(
        order,
        weights="3^(k-i) / C",
        code="v_n = Σ_{i=1..k} 3^(k-i) e_{x_{n-i}},   C = (3^k - 1) / 2",
        source="ours: the weights of App. B in the opposite order",
        gate="p^V_k = C² in `gate` at offset k alone: C with a full window, 0 without",
        base="a third",
        anchored=True,
    )
    newest = dataclasses.replace(
        window,
        text="One head attends to the k tokens before n, and the *newest* weighs most: each older one a third of the "
        "one after it. The block holds a large constant M, so that the addition rounds the sum to a whole number.",
    )
    return (
        newest,
        match(
            "No MLP is needed. The query is a linear map of the stream: it moves v_n one place and puts the current "
            "token on top. The oldest token is still in it, but as the last digit, too light to turn the query away "
            "from the right key.",
            "q_n = 3^k e_{x_n} + v_n = 3 u_n + e_{x_{n-k}},   score = kappa · cos(q_n, v_i)",
            "ours; the margin is Lemma 2 of the certificates",
            before="attention 1",
            weights={
                QUERY.format(1): "3^k times `token` plus `window`, the constant M taken off",
                KEY.format(1): "`window` plus `gate`, minus 2M + C: no positive coordinate without a full window",
                "layers.1.heads.0.scale": "kappa",
            },
        ),
        count("App. B.1: W_V^(2), W_o; Definition 2"),
    )
