"""The proof of every construction as steps; each names its equation and the weights that do it.

Offsets count back from n: the key at position n sums the k tokens *before* n, the query the k tokens *up to* n, so
that a key matches where what follows it is what may come next.
"""

from __future__ import annotations

import dataclasses

from anyorder.web.story import (
    Look,
    Sentence,
    Show,
    Step,
    attention,
    block,
    inside,
    prediction,
    scores,
    thresholded,
)

_QUERY, _KEY, _VALUE = "layers.{}.heads.0.query", "layers.{}.heads.0.key", "layers.{}.heads.0.value"


def story_of(construction: str | None, order: int, heads: list[int]) -> tuple[Step, ...]:
    """The steps for a construction, or for a model that nobody wrote down.

    >>> [step.title for step in story_of("bigram", 1, [1, 1])]
    ['Copy the previous token', 'Find the same token before', 'Count what came next']
    """
    if construction is None:
        return _unknown(order, heads)
    return _STORIES[construction](order)


# What is the case at this position, in one sentence.


def _window(look: Look) -> str:
    n, k = look.position, look.order
    if n == 0:
        return "Nothing stands before position 0, so it can only attend to itself."
    short = "" if n >= k else f" Only {n} of {k} tokens are there: this key has no full window and must not match."
    return f"Before position {n}: {look.word(n - k, n - 1)}.{short}"


def _recent(look: Look) -> str:
    n, k = look.position, look.order
    if n < k - 1:
        return f"Up to position {n} there are {n + 1} of {k} tokens: no window yet, and no promise."
    return f"The last {k} tokens up to position {n}: {look.word(n - k + 1, n)}."


def _oldest(look: Look) -> str:
    n, k = look.position, look.order
    if n < k:
        return f"Position {n} has no token at offset {k}."
    return f"The token at offset {k} is x_{n - k} = {look.name(n - k)}: the one bar above the line."


def _matches(look: Look) -> str:
    if look.position < look.order - 1:
        return f"With fewer than {look.order} tokens there is nothing to look for."
    found = look.matches
    context = look.word(look.position - look.order + 1, look.position)
    if not found:
        return f"{context} has not been seen before: the softmax goes to the nearest code instead, or to the sink."
    places = ", ".join(map(str, found[:12])) + (" …" if len(found) > 12 else "")
    return f"{context} stands right before {len(found)} position{'s' * (len(found) > 1)}: {places}."


def _counts(look: Look) -> str:
    if not look.matches:
        return "No count: 0/0 in the k-gram (Definition 2 leaves it open)."
    names = [look.name(match) for match in look.matches]
    counted = ", ".join(f"{name} {names.count(name)}×" for name in dict.fromkeys(names))
    return f"What stood there: {counted}, of {len(names)}."


def _smoothed(look: Look) -> str:
    beta, size = look.seen.opened.beta, look.seen.alphabet_size
    return f"{_counts(look)} The sink adds β = {beta:g} to each of {size} symbols."


# Steps that several proofs share.


def _sum_window(
    order: int,
    *,
    weights: str,
    code: str,
    source: str,
    layer: int = 0,
    head: int = 0,
    gate: str,
    base: str,
    anchored: bool,
) -> Step:
    at, heads = f"attention {layer + 1}", f"layers.{layer}.heads.{head}"
    text = (
        f"One head attends to the k tokens before n, each older one {base} times as strongly, and adds them up: a "
        "number in that base whose digits are the tokens. Different windows give different vectors."
    )
    if anchored:
        text += " The block holds a large constant M, so that the addition itself rounds the sum to a whole number."
    return Step(
        "Write the window as one vector",
        text,
        f"att(n, n-i) = {weights} for i = 1 … k,   {code}",
        source,
        {
            f"{heads}.query": "sums the one-hot token: every query is 1 in one coordinate",
            f"{heads}.key_positions": "p^K_i: log of the weight plus a pull, at offsets 1 … k",
            f"{heads}.value": "writes e_x to the block `window`",
            f"{heads}.value_positions": gate,
        },
        (
            attention(f"attention of layer {layer + 1}", layer, head, offsets=(1, order)),
            block("v_n", "window", at, since="embedding"),
            block("gate", "gate", at, since="embedding"),
        ),
        _window,
    )


def _recent_head(order: int, layer: int, source: str) -> Step:
    return Step(
        "Write the last k tokens as one vector",
        "This head starts at offset 0: the same code, one token later. It is what the query will be.",
        "att(n, n-i) = 3^i / C for i = 0 … k-1,   u_n = Σ att · e_{x_{n-i}}",
        source,
        {
            f"layers.{layer}.heads.0.key_positions": "p^K_i: i · log 3 plus a pull, at offsets 0 … k-1",
            f"layers.{layer}.heads.0.value": "writes e_x to the block `recent`",
        },
        (
            attention(f"attention of layer {layer + 1}", layer, 0, offsets=(0, order - 1)),
            block("u_n", "recent", f"attention {layer + 1}"),
        ),
        _recent,
    )


def _isolate(equation: str, source: str) -> Step:
    return Step(
        "Isolate the oldest token",
        "The oldest token weighs more than all later ones together. A threshold between the two and a ReLU leave only "
        "its coordinate, and the norm makes it one: the token that the window is about to lose.",
        equation,
        source,
        {
            "layers.0.mlp.0.weight": "copies `window` to `oldest`",
            "layers.0.mlp.0.bias": "minus the threshold, drawn as a line",
        },
        (
            thresholded(
                "v_n and the threshold",
                "window",
                "attention 1",
                since="embedding",
                layer=0,
                place=0,
                into="oldest",
            ),
            block("isolated", "oldest", "mlp 1.1"),
        ),
        _oldest,
    )


def _shift(equation: str, source: str, *, linear: bool = False) -> Step:
    shows: tuple[Show, ...] = (inside("u_n", 0, 1, "query", "mlp 1.1"),)
    if not linear:
        shows += (block("u_n / ‖u_n‖", "query", "mlp 1.2"),)
    return Step(
        "Shift the window by one",
        "Take the oldest token away, move all digits by one place, add the current token: u_n has exactly the form of "
        "a key, but for the k tokens up to n.",
        equation,
        source,
        {"layers.0.mlp.1.weight": "reads `token`, `window` and `oldest`, writes `query`"},
        shows,
        _recent,
    )


def _match(
    text: str,
    equation: str,
    source: str,
    *,
    layer: int = 1,
    before: str,
    weights: dict[str, str],
    here: Sentence = _matches,
    title: str = "Find the same window earlier",
) -> Step:
    return Step(
        title,
        text,
        equation,
        source,
        weights,
        (
            scores("score", layer, before),
            attention(f"attention of layer {layer + 1}", layer, 0),
        ),
        here,
    )


def _count(source: str, layer: int = 1, *, here: Sentence = _counts, sink: bool = False) -> Step:
    text = "Each match adds the token that stands there. Uniform attention makes this the fraction of matches: the "
    text += "count over the number of matches."
    equation = "output = Σ_i att(n, i) e_{x_i} = (1 / |I_n|) Σ_{i ∈ I_n} e_{x_i}"
    if sink:
        text += " The sink adds its uniform value: add-β smoothing."
        equation = "output = (count(s) + β) / (N + β S)"
    return Step(
        "Count what came next",
        text,
        equation,
        source,
        {
            _VALUE.format(layer): "writes the token that stands at a match to `output`"
            + (", and 1/S for the sink" if sink else ""),
            "output": "W_o reads `output`; the output map is a ReLU, no softmax",
        },
        (block("output", "output", f"attention {layer + 1}"), prediction()),
        here,
    )


_GATED = "kappa · Z_i Z_n + kappa · <v_i, u_n> / (‖v_i‖ ‖u_n‖)"
_GATED_TEXT = (
    "Layer 2 compares the direction of the query with that of every key. Equal windows have equal directions; the "
    "gate Z keeps keys without a full window away. With kappa large, all weight goes to the matches, in equal parts."
)


def _gated(layer: int, before: str, source: str) -> Step:
    return _match(
        _GATED_TEXT,
        f"score(n, i) = {_GATED}",
        source,
        layer=layer,
        before=before,
        weights={
            _QUERY.format(layer): "√kappa times `gate` and `query`",
            _KEY.format(layer): "√kappa times `gate` and `key`",
        },
    )


def _normalise(read: str, name: str, write: str, place: int, layer: int, source: str) -> Step:
    return Step(
        f"Keep the direction of {name}",
        "Only directions are compared, so the length is divided away.",
        f"x + LN(ReLU(W x)):   {write} = {name} / ‖{name}‖",
        source,
        {f"layers.{layer}.mlp.{place}.weight": f"copies `{read}` to `{write}`"},
        (block(f"{name} / ‖{name}‖", write, f"mlp {layer + 1}.{place + 1}"),),
    )


# The proofs.


def _paper_window(order: int, source: str, layer: int = 0, head: int = 0) -> Step:
    return _sum_window(
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


def _two_layer(order: int) -> tuple[Step, ...]:
    return (
        _paper_window(order, "App. B, layer 1: p^(1),K, p^(1),V, W_V^(1)"),
        _isolate("c = LN(ReLU(v_n - (3^(k-1) - 1) / 2C)) = e_{x_{n-k}}", "App. B.1: W_mlp^(1), b_mlp^(1)"),
        _shift("u_n = e_{x_n} / C + 3 v_n - (3^k / C) e_{x_{n-k}}", "App. B.1: W_mlp^(2)"),
        _normalise("window", "v_n", "key", 2, 0, "App. B.1: W_mlp^(3), reading v_n (E4)"),
        _gated(1, "mlp 1.3", "App. B.1, layer 2: W_Q^(2), W_K^(2)"),
        _count("App. B.1: W_V^(2), W_o; Definition 2"),
    )


_COSINE_TEXT = (
    "Queries and keys are divided by their length inside layer 2. There is no gate: a short opening that points the "
    "same way as the window is counted too, the bias of this variant (E7)."
)


def _cosine(source: str, before: str, query: str) -> Step:
    return _match(
        _COSINE_TEXT,
        "score(n, i) = kappa · <LN(W_K x_i), LN(W_Q x_n)>",
        source,
        before=before,
        weights={
            _QUERY.format(1): f"reads `{query}`",
            _KEY.format(1): "reads `window`",
            "layers.1.heads.0.scale": "kappa",
        },
    )


def _two_layer_qk(order: int) -> tuple[Step, ...]:
    return (
        _paper_window(order, "App. B, layer 1"),
        _isolate("c = LN(ReLU(v_n - (3^(k-1) - 1) / 2C)) = e_{x_{n-k}}", "App. B.2: W_mlp^(1)"),
        _shift(
            "u_n = e_{x_n} / C + 3 v_n - (3^k / C) e_{x_{n-k}}", "App. B.2: W_mlp^(2), linear, no skip", linear=True
        ),
        _cosine("App. B.2, layer 2: norms on Q and K", "mlp 1.2", "query"),
        _count("App. B.2: W_V^(2), W_o"),
    )


def _two_head(order: int) -> tuple[Step, ...]:
    return (
        _recent_head(order, 0, "App. A, layer 1, head 1"),
        _paper_window(order, "App. A, layer 1, head 2", head=1),
        _normalise("recent", "u_n", "query", 0, 0, "App. A.2.1: first MLP layer"),
        _normalise("window", "v_n", "key", 1, 0, "App. A.2.1: second MLP layer"),
        _gated(1, "mlp 1.2", "App. A.2.1, layer 2"),
        _count("App. A.2.1: W_V^(2), W_o; Definition 2"),
    )


def _two_head_qk(order: int) -> tuple[Step, ...]:
    return (
        _recent_head(order, 0, "App. A, layer 1, head 1"),
        _paper_window(order, "App. A, layer 1, head 2", head=1),
        _cosine("App. A.2.2, layer 2: norms on Q and K", "attention 1", "recent"),
        _count("App. A.2.2: W_V^(2), W_o"),
    )


def _three_layer(order: int) -> tuple[Step, ...]:
    return (
        _recent_head(order, 0, "Theorem 1 (Rajaraman et al.), layer 1"),
        _normalise("recent", "u_n", "query", 0, 0, "Theorem 1, MLP of layer 1"),
        _paper_window(order, "Theorem 1, layer 2", layer=1),
        _normalise("window", "v_n", "key", 0, 1, "Theorem 1, MLP of layer 2"),
        _gated(2, "mlp 2.2", "Theorem 1, layer 3"),
        _count("Theorem 1, layer 3: W_V, W_o", 2),
    )


def _dyadic_code(order: int, gate: str) -> tuple[Step, ...]:
    return (
        _sum_window(
            order,
            weights="2^(i-1) / C",
            code="v_n = Σ_{i=1..k} 2^(i-1) e_{x_{n-i}},   C = 2^k - 1",
            source="ours, after App. B layer 1: base 2, W_V scaled by C",
            gate=gate,
            base="2",
            anchored=True,
        ),
        _isolate("c = LN(ReLU(v_n - (2^(k-1) - 1))) = e_{x_{n-k}}", "ours, after App. B.1: W_mlp^(1)"),
        _shift("u_n = e_{x_n} + 2 v_n - 2^k e_{x_{n-k}}", "ours, after App. B.1: W_mlp^(2)"),
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


def _dyadic(order: int) -> tuple[Step, ...]:
    return (
        *_dyadic_code(order, "p^V_k = 2C in `gate` at offset k alone: 2^k with a full window, 0 without"),
        _match(
            "Layer 2 compares directions. Equal windows are bit-identical keys, so their attention is exactly equal; "
            "kappa makes the rest vanish. Turn the temperature up and watch neighbours come in.",
            "score(n, i) = kappa · <v_i / ‖v_i‖, u_n / ‖u_n‖>",
            "ours, after App. B.1 layer 2: kappa in W_Q alone, nothing added to the score",
            before="mlp 1.3",
            weights={_QUERY.format(1): "kappa times `query`", _KEY.format(1): "reads `key`"},
        ),
        _count("App. B.1: W_V^(2), W_o; Definition 2"),
    )


def _bayes(order: int) -> tuple[Step, ...]:
    return (
        *_dyadic_code(order, "p^V_k in `gate`; the beginning token, seen in a window, takes it away again"),
        _match(
            "The beginning token ⊢ is a sink: its key scores as an exact match plus log(β S). Next to N matches it "
            "weighs β S, and for a context never seen it is all there is.",
            "score(n, i) = kappa · cos(v_i, u_n),   score(n, ⊢) = kappa + log(β S)",
            "ours",
            before="mlp 1.3",
            weights={
                _QUERY.format(1): "kappa times `query`, and 1 for the sink",
                _KEY.format(1): "reads `key`; kappa + log(β S) in `beginning`",
            },
            title="Find the same window, next to a sink",
        ),
        _count("ours: β = 1 is the Bayes predictor for Dirichlet(1) rows", here=_smoothed, sink=True),
    )


def _attention_only(order: int) -> tuple[Step, ...]:
    window = _sum_window(
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
        _match(
            "No MLP is needed. The query is a linear map of the stream: it moves v_n one place and puts the current "
            "token on top. The oldest token is still in it, but as the last digit, too light to turn the query away "
            "from the right key.",
            "q_n = 3^k e_{x_n} + v_n = 3 u_n + e_{x_{n-k}},   score = kappa · cos(q_n, v_i)",
            "ours; the margin is Lemma 2 of the certificates",
            before="attention 1",
            weights={
                _QUERY.format(1): "3^k times `token` plus `window`, the constant M taken off",
                _KEY.format(1): "`window` plus `gate`, minus 2M + C: no positive coordinate without a full window",
                "layers.1.heads.0.scale": "kappa",
            },
        ),
        _count("App. B.1: W_V^(2), W_o; Definition 2"),
    )


def _copies(order: int, prefix: str, source: str, weights: dict[str, str], gate: tuple[Show, ...]) -> Step:
    backs = tuple(block(f"x_(n-{j})", f"{prefix}_{j}", "attention 1", since="embedding") for j in range(1, order + 1))
    return Step(
        "Copy the last k tokens, one head each",
        "Head j attends to offset j alone and writes that token to a block of its own. Nothing is mixed, so nothing "
        "has to be told apart: heads instead of bits.",
        "att_j(n, i) = 1 for i = n - j,   block_j = e_{x_{n-j}}",
        source,
        weights,
        (
            *(attention(f"attention of head {j}", 0, j - 1, offsets=(j, j)) for j in range(1, min(order, 3) + 1)),
            *backs,
            *gate,
        ),
        _window,
    )


_AGREE = (
    "Layer 2 compares block by block: the score is kappa times the number of tokens that agree. One token less is "
    "one kappa less, whatever the order."
)


def _k_head(order: int) -> tuple[Step, ...]:
    copies = _copies(
        order,
        "back",
        "after Nichani et al., layer 1",
        {
            "layers.0.heads.0.key_positions": "p^K of head 1: a pull at offset 1; head j has it at offset j",
            "layers.0.heads.0.projection": "writes the token to `back_1`; head j to `back_j`",
        },
        (block("gate", "gate", "attention 1"),),
    )
    return (
        copies,
        _match(
            _AGREE + " A full window counts as one agreement more.",
            "score(n, i) = kappa · (#{j : x_{i-j} = x_{n-j+1}} + gate_i)",
            "after Nichani et al., layer 2: A^(2)",
            before="attention 1",
            weights={
                _QUERY.format(1): "kappa times `token` and back_1 … back_(k-1)",
                _KEY.format(1): "back_1 … back_k and `gate`",
            },
        ),
        _count("Definition 2"),
    )


def _k_head_bayes(order: int) -> tuple[Step, ...]:
    copies = _copies(
        order,
        "back",
        "after Nichani et al., layer 1",
        {
            "layers.0.heads.0.key_positions": "p^K of head 1: a pull at offset 1; head j has it at offset j",
            "layers.0.heads.0.projection": "writes the token to `back_1`; head j to `back_j`",
        },
        (),
    )
    return (
        copies,
        _match(
            _AGREE + " Here a full match scores exactly 0, and the beginning token ⊢ scores log(β S): a sink that is "
            "exact in every dtype.",
            "score(n, i) = kappa · (#agreements - k),   score(n, ⊢) = log(β S)",
            "ours",
            before="attention 1",
            weights={
                _QUERY.format(1): "kappa times `token` and back_1 … back_(k-1), and 1 for `extra`",
                _KEY.format(1): "back_1 … back_k; -kappa·k for a token, log(β S) for the sink",
            },
            title="Find the same window, next to a sink",
        ),
        _count("ours: β = 1 is the Bayes predictor for Dirichlet(1) rows", here=_smoothed, sink=True),
    )


def _disentangled(order: int) -> tuple[Step, ...]:
    copies = _copies(
        order,
        "token",
        "Nichani et al.: A^(1)_j",
        {
            "layers.0.heads.0.query": "position n asks for position n - 1; head j for n - j",
            "layers.0.heads.0.projection": "appends token and position to blocks of their own",
        },
        (),
    )
    return (
        copies,
        _match(
            _AGREE + " Keys below position k are masked by their one-hot position.",
            "score(n, i) = kappa · #{j : x_{i-j} = x_{n-j+1}} - kappa (k + 1) · 1[i < k]",
            "Nichani et al.: A^(2)",
            before="attention 1",
            weights={
                _QUERY.format(1): "block j - 1 asks for block j; asks against positions below k",
                _KEY.format(1): "the whole stream",
            },
        ),
        _count("Nichani et al.; Definition 2"),
    )


def _bigram(order: int) -> tuple[Step, ...]:
    return (
        Step(
            "Copy the previous token",
            "One head attends to offset 1. Position 0 can only attend to itself; its value position makes this one "
            "key negative, so that it never matches.",
            "att(n, n-1) = 1,   previous_n = e_{x_{n-1}}",
            "Edelman et al., layer 1; the gate is ours",
            {
                "layers.0.heads.0.key_positions": "p^K: a pull at offset 1",
                "layers.0.heads.0.value": "writes e_x to `previous`",
            },
            (
                attention("attention of layer 1", 0, offsets=(1, 1)),
                block("previous token", "previous", "attention 1"),
            ),
            _window,
        ),
        _match(
            "Attend to where the previous token was the current one.",
            "score(n, i) = kappa · <e_{x_n}, e_{x_{i-1}}>",
            "Edelman et al., layer 2",
            before="attention 1",
            weights={_QUERY.format(1): "kappa times `token`", _KEY.format(1): "reads `previous`"},
            title="Find the same token before",
        ),
        _count("Edelman et al.; Definition 2 with k = 1"),
    )


def _associative(order: int) -> tuple[Step, ...]:
    return (
        Step(
            "Ask for the previous position",
            "Positions are random vectors that are nearly orthogonal. The product of queries and keys remembers that "
            "p_t belongs to p_(t-1), so that n attends to n - 1, up to noise that falls with the dimension.",
            "W_K^(1) = Σ_t p_t p_(t-1)^T",
            "Bietti et al., layer 1",
            {
                "positions": "the random vectors p_t",
                "layers.0.heads.0.query": "one factor of the memory",
                "layers.0.heads.0.key": "the other factor",
            },
            (attention("attention of layer 1", 0, offsets=(1, 1)),),
            _window,
        ),
        _match(
            "The current token asks where it was the previous one. Nothing is exactly orthogonal, so that misses keep "
            "some weight: approximate by design.",
            "W_K^(2) = Σ_s e_s (W_1 e_s)^T",
            "Bietti et al., layer 2",
            before="attention 1",
            weights={_QUERY.format(1): "kappa times the embeddings", _KEY.format(1): "the remapped embeddings W_1 e_s"},
            title="Find the same token before",
        ),
        Step(
            "Read what came next",
            "The output memory turns the remapped token back into its symbol.",
            "W_o = Σ_s e_s (W_2 e_s)^T",
            "Bietti et al., output",
            {"layers.1.heads.0.value": "W_2", "output": "the output memory"},
            (prediction(),),
            _counts,
        ),
    )


def _unknown(order: int, heads: list[int]) -> tuple[Step, ...]:
    steps = []
    for layer, count in enumerate(heads):
        last = layer == len(heads) - 1
        near = None if last else (1, order)
        shown = tuple(attention(f"attention of head {j + 1}", layer, j, offsets=near) for j in range(min(count, 4)))
        weights = {f"layers.{layer}.heads.0.query": "W_Q", f"layers.{layer}.heads.0.key": "W_K"}
        text = "Where this layer looks from position n. "
        text += (
            "Marked keys are those after which the same window ended: an induction head of order k looks there."
            if last
            else "A code of the window would look at the k tokens before n, older ones with other weights."
        )
        steps.append(
            Step(
                f"Layer {layer + 1}",
                text,
                "Definition 3",
                "learnt weights",
                weights,
                shown,
                _matches if last else _window,
            )
        )
    steps.append(
        Step(
            "Prediction",
            "What the model says about the next token.",
            "f(W_o x_n + b_o)",
            "Definition 3",
            {"embedding": "the tokens"},
            (prediction(),),
            _counts,
        )
    )
    return tuple(steps)


_STORIES = {
    "two-layer": _two_layer,
    "two-layer-qk": _two_layer_qk,
    "two-head": _two_head,
    "two-head-qk": _two_head_qk,
    "three-layer": _three_layer,
    "k-head": _k_head,
    "disentangled": _disentangled,
    "bigram": _bigram,
    "associative": _associative,
    "dyadic": _dyadic,
    "attention-only": _attention_only,
    "bayes": _bayes,
    "k-head-bayes": _k_head_bayes,
}
