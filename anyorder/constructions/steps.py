"""The proof of a construction as data: steps, the values that each displays, and steps shared by several proofs.

A step names blocks of the residual stream, points of the model and weights, and computes nothing. The page
evaluates the steps at one position of a trace and draws them. Offsets count back from n: the key at position n sums
the k tokens *before* n, the query the k tokens *up to* n, so that the token at a matching key
is a candidate for the next one.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from typing import Literal


@dataclasses.dataclass(frozen=True)
class Block:
    """A block of the stream at a point, minus its anchor."""

    name: str
    of: str
    point: str


@dataclasses.dataclass(frozen=True)
class Combined:
    """A weighted sum of blocks at a point: the vector that a later weight reads."""

    name: str
    of: tuple[tuple[str, float], ...]
    point: str


@dataclasses.dataclass(frozen=True)
class Inside:
    """The input of the MLP's ReLU: W x + b in a block, with x the stream at a point."""

    name: str
    layer: int
    place: int
    of: str
    point: str


@dataclasses.dataclass(frozen=True)
class Threshold:
    """A block with the threshold that the next ReLU subtracts from it, marked where the block exceeds it."""

    shown: Block
    inside: Inside


@dataclasses.dataclass(frozen=True)
class Attention:
    """The weights of a head from n to every key, with marks on the matches or on a range of offsets."""

    name: str
    layer: int
    head: int = 0
    offsets: tuple[int, int] | None = None


@dataclasses.dataclass(frozen=True)
class Scores:
    """The scores of a head from n to every key, in units of kappa if there is one."""

    name: str
    layer: int
    point: str
    head: int = 0


@dataclasses.dataclass(frozen=True)
class Overlay:
    """The direction of a head's query at n, drawn over those of a match's key and of the nearest miss's key."""

    name: str
    layer: int
    point: str
    head: int = 0


@dataclasses.dataclass(frozen=True)
class Hidden:
    """The output of an MLP layer that does not write to the stream: a number for every symbol.

    With `keys` there is one for every symbol and position from k on; the sum over symbols is drawn at the position.
    """

    name: str
    layer: int
    place: int
    keys: bool = False


@dataclasses.dataclass(frozen=True)
class Prediction:
    """The next-token distribution of the model at n."""

    name: str = "prediction"


Show = Block | Combined | Inside | Threshold | Attention | Scores | Overlay | Hidden | Prediction
#: The subject of the sentence on the current position: its window, the matches, or the counts of next tokens.
Here = Literal["", "window", "recent", "oldest", "matches", "counts", "smoothed"]


@dataclasses.dataclass(frozen=True)
class Step:
    """One step of a proof: a sentence, its equation, the weights involved, and the values to display."""

    title: str
    text: str
    equation: str
    source: str
    weights: Mapping[str, str]
    shows: tuple[Show, ...]
    here: Here = ""


def sum_window(
    order: int, *, weights: str, code: str, source: str, layer: int = 0, head: int = 0, gate: str, text: str
) -> Step:
    """One head adds up the k tokens before n."""
    at, heads = f"attention {layer + 1}", f"layers.{layer}.heads.{head}"
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
            Attention(f"attention of layer {layer + 1}", layer, head, offsets=(1, order)),
            Block("v_n", "window", at),
            Block("gate", "gate", at),
        ),
        "window",
    )


def window_text(base: str) -> str:
    """The sentence on a head that packs the window with growing weights."""
    return (
        f"One head attends to the k tokens before n, each older one {base} times as strongly, and adds them up: a "
        "number in that base whose digits are the tokens. Different windows give different vectors."
    )


#: The anchor's sentence, after the text of the step that it rounds.
ANCHORED = " The block holds a large constant M, so that the addition itself rounds the sum to a whole number."


def copies(order: int, prefix: str, source: str, weights: Mapping[str, str], gate: tuple[Show, ...] = ()) -> Step:
    """A head for each offset."""
    return Step(
        "Copy the last k tokens, one head each",
        "Head j attends to offset j alone and writes that token to a separate block. No number packs several tokens: "
        "the cost is heads instead of bits.",
        "att_j(n, i) = 1 for i = n - j,   block_j = e_{x_{n-j}}",
        source,
        weights,
        (
            *(Attention(f"attention of head {j}", 0, j - 1, (j, j)) for j in range(1, min(order, 3) + 1)),
            *(Block(f"x_(n-{j})", f"{prefix}_{j}", "attention 1") for j in range(1, order + 1)),
            *gate,
        ),
        "window",
    )


def isolate(equation: str, source: str) -> Step:
    """The first layer of the MLP of App. B.1."""
    return Step(
        "Isolate the oldest token",
        "The oldest token weighs more than all later ones together. A threshold between the two and a ReLU leave only "
        "its coordinate, and the norm scales it to one. The next step removes this token from the window.",
        equation,
        source,
        {
            "layers.0.mlp.0.weight": "copies `window` to `oldest`",
            "layers.0.mlp.0.bias": "minus the threshold, drawn as a line",
        },
        (
            Threshold(
                Block("v_n and the threshold", "window", "attention 1"),
                Inside("", 0, 0, "oldest", "attention 1"),
            ),
            Block("isolated", "oldest", "mlp 1.1"),
        ),
        "oldest",
    )


def shift(equation: str, source: str, *, linear: bool = False) -> Step:
    """The second layer of the MLP of App. B.1."""
    shows: tuple[Show, ...] = (Inside("u_n", 0, 1, "query", "mlp 1.1"),)
    if not linear:
        shows += (Block("u_n / ‖u_n‖", "query", "mlp 1.2"),)
    return Step(
        "Shift the window by one",
        "Subtract the oldest token, move all digits by one place, add the current token: u_n is the same code as a "
        "key's, of the k tokens up to n.",
        equation,
        source,
        {"layers.0.mlp.1.weight": "reads `token`, `window` and `oldest`, writes `query`"},
        shows,
        "recent",
    )


def match(
    text: str,
    equation: str,
    source: str,
    *,
    before: str,
    query: str,
    key: str,
    layer: int = 1,
    scale: str | None = None,
    title: str = "Find the same window earlier",
) -> Step:
    """The last layer compares the query with all keys; `before` is the point at which it reads the stream."""
    head = f"layers.{layer}.heads.0"
    return Step(
        title,
        text,
        equation,
        source,
        {f"{head}.query": query, f"{head}.key": key} | ({} if scale is None else {f"{head}.scale": scale}),
        (
            Overlay("u_n", layer, before),
            Scores("score", layer, before),
            Attention(f"attention of layer {layer + 1}", layer),
        ),
        "matches",
    )


def count(source: str, layer: int = 1) -> Step:
    """The block that the last layer writes and W_o reads."""
    return Step(
        "Count what came next",
        "Each match contributes its token. With uniform attention the output is the count of each symbol, divided by "
        "the number of matches.",
        "output = Σ_i att(n, i) e_{x_i} = (1 / |I_n|) Σ_{i ∈ I_n} e_{x_i}",
        source,
        {
            f"layers.{layer}.heads.0.value": "writes the token at a match to `output`",
            "output": "W_o reads `output`; the output map is a ReLU, not a softmax",
        },
        (Block("output", "output", f"attention {layer + 1}"), Prediction()),
        "counts",
    )


def smoothed_count() -> Step:
    """The step of smoothed counts, with a sink."""
    plain = count("ours: β = 1 is the Bayes predictor for Dirichlet(1) rows")
    return dataclasses.replace(
        plain,
        text=plain.text + " The sink adds its uniform value: add-β smoothing.",
        equation="output = (count(s) + β) / (N + β S)",
        weights={name: does + ", and 1/S for the sink" * (name != "output") for name, does in plain.weights.items()},
        here="smoothed",
    )


#: The formula of each class of heads, and where it is defined (Definition 3 or elsewhere).
_LEARNT = {
    "Head": (
        "x_n + Σ_i att(n, i) (W_V x_i + p^V_{n-i}),   att(n, i) ∝ exp <W_K x_i + p^K_{n-i}, W_Q x_n>",
        "Definition 3; the weights are learnt",
    ),
    "Mamba": (
        "x_n + W_P RMS((Σ_i M(n, i) X_i + s X_n) ⊙ SiLU(W_Z x_n)),   M(n, i) = a_{i+1} ⋯ a_n Δ_i <C_n, B_i>",
        "Mamba-2; the figure shows |M(n, i)| over its sum. The weights are learnt",
    ),
}


def learnt(order: int, heads: Sequence[int], kinds: Sequence[str] = ()) -> tuple[Step, ...]:
    """The steps for a model without a proof, given the heads of each layer: the attention of each head, and the output.

    `kinds` are the classes of the heads of each layer; by default all are attention.

    >>> [step.title for step in learnt(2, (1, 1))]
    ['Layer 1', 'Layer 2', 'Prediction']
    """
    made = []
    for layer, (count, kind) in enumerate(zip(heads, kinds or ("Head",) * len(heads), strict=True)):
        names = {f"layers.{layer}.heads.0.query": "W_Q", f"layers.{layer}.heads.0.key": "W_K"}
        last = layer == len(heads) - 1
        near = None if last else (1, order)
        text = "The attention of position n in this layer. "
        text += (
            "Marked: the tokens that followed the same window before, to which an induction head of order k attends."
            if last
            else "A head that encodes the window attends to the k tokens before n, to each with another weight."
        )
        made.append(
            Step(
                f"Layer {layer + 1}",
                text,
                *_LEARNT.get(kind, ("x_n + Σ_i …", f"{kind}, of a plug-in; the weights are learnt")),
                names if kind in _LEARNT else {},
                tuple(Attention(f"attention of head {j + 1}", layer, j, offsets=near) for j in range(min(count, 4))),
                "matches" if last else "window",
            )
        )
    prediction = Step(
        "Prediction",
        "The model's distribution of the next token.",
        "f(W_o x_n + b_o)",
        "Definition 3",
        {"embedding": "the tokens"},
        (Prediction(),),
        "counts",
    )
    return (*made, prediction)
