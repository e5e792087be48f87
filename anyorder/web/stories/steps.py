"""Steps that several proofs share."""

from __future__ import annotations

from anyorder.web.stories.sentences import counts_here, matches_here, oldest_here, recent_here, window_here
from anyorder.web.story import Sentence, Show, Step, attention, block, inside, prediction, scores, thresholded

QUERY, KEY, VALUE = "layers.{}.heads.0.query", "layers.{}.heads.0.key", "layers.{}.heads.0.value"


def sum_window(
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
    """One head adds up the k tokens before n."""
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
        window_here,
    )


def recent_head(order: int, layer: int, source: str) -> Step:
    """One head adds up the k tokens up to n."""
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
        recent_here,
    )


def isolate(equation: str, source: str) -> Step:
    """The first layer of the MLP of App. B.1."""
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
        oldest_here,
    )


def shift(equation: str, source: str, *, linear: bool = False) -> Step:
    """The second layer of the MLP of App. B.1."""
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
        recent_here,
    )


def match(
    text: str,
    equation: str,
    source: str,
    *,
    layer: int = 1,
    before: str,
    weights: dict[str, str],
    here: Sentence = matches_here,
    title: str = "Find the same window earlier",
) -> Step:
    """The last layer compares the query with all keys."""
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


def count(source: str, layer: int = 1, *, here: Sentence = counts_here, sink: bool = False) -> Step:
    """What the last layer writes, and W_o reads."""
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
            VALUE.format(layer): "writes the token that stands at a match to `output`"
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


def gated(layer: int, before: str, source: str) -> Step:
    """The last layer of the constructions with the gate Z."""
    return match(
        _GATED_TEXT,
        f"score(n, i) = {_GATED}",
        source,
        layer=layer,
        before=before,
        weights={
            QUERY.format(layer): "√kappa times `gate` and `query`",
            KEY.format(layer): "√kappa times `gate` and `key`",
        },
    )


def normalise(read: str, name: str, write: str, place: int, layer: int, source: str) -> Step:
    """A layer of an MLP that keeps a direction."""
    return Step(
        f"Keep the direction of {name}",
        "Only directions are compared, so the length is divided away.",
        f"x + LN(ReLU(W x)):   {write} = {name} / ‖{name}‖",
        source,
        {f"layers.{layer}.mlp.{place}.weight": f"copies `{read}` to `{write}`"},
        (block(f"{name} / ‖{name}‖", write, f"mlp {layer + 1}.{place + 1}"),),
    )
