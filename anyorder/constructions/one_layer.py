"""`one-layer`: a single attention layer and an MLP that counts, with a head for every position, or for every p - 2.

One head cannot find the matches: the stream at a key contains only its own token. So heads copy the whole sequence to
every position, and the MLP does the rest:

* the head of position t attends to t, or to the beginning token ⊢ at positions before t, and writes e_{x_t} to `at_t`;
* k - 1 further heads copy the tokens at offsets 1 … k-1: the window up to n, each token in a separate block;
* the MLP compares the window with every earlier one, counts the successors s of equal windows, N_s, and divides:
  Σ_q ReLU(N_s/q - 2|N - q|) = N_s/N, since N_s/q ≤ N/q ≤ 2|N - q| for every integer q ≠ N.

With `heads` = H each head encodes ⌈T/H⌉ positions as the digits of a number, the earliest on top, and the MLP reads
them as in `unrolled`: m = p - 2 positions fit. Digits of future positions are zero, and ⊢ has the weight of the lowest
known digit, so that the weights add up to 2 at every position.
"""

from __future__ import annotations

import bisect
import dataclasses
import math

import numpy as np
from jaxtyping import Float

from anyorder.constructions import steps
from anyorder.constructions.certificate import WHOLE_SUMS, Analysis, Request
from anyorder.constructions.construction import Construction, Option
from anyorder.constructions.digits import digits, groups, shares
from anyorder.constructions.parts import assemble, vanishing_score
from anyorder.constructions.steps import Step
from anyorder.constructions.stream import Stream
from anyorder.constructions.unrolled import anchored, reading
from anyorder.errors import require
from anyorder.models import Head, Layer, MLPLayer, Transformer

#: Most numbers in the weights, and in the attention maps of one sequence: 256 MiB in float64.
LARGEST = 1 << 25
#: Digits that the MLP reads at once.
GROUP = 2

#: The token at every position, as a sum of blocks of the stream.
Tokens = dict[int, list[tuple[str, float]]]


def analyse(request: Request, heads: int = 0) -> Analysis:
    """Counts up to T - k and the codes of the heads are integers; two roundings in N_s · (1/q)."""
    check_heads(request, heads)
    longest = -(-request.length // heads) if heads else 1
    return Analysis(
        margin=1.0,
        miss_units=0.0,
        output_units=3.0,
        code_bits=max(1, (request.length - request.order - 1).bit_length(), longest + 2 if longest > 1 else 0),
        tempered=False,
        assumes=(WHOLE_SUMS,) if longest > 1 else (),
    )


def own_shares(request: Request, heads: int) -> list[tuple[int, int]]:
    """The positions of each head, as (the first, their number)."""
    return shares(request.length, heads or request.length)


def check_heads(request: Request, heads: int) -> None:
    """Reject more heads than there are positions."""
    length = request.length
    require(heads <= length, f"heads is {heads}, must be at most the length {length}; pass `heads={length}` or less")


def one_layer(request: Request, kappa: float, heads: int = 0) -> Transformer:
    """The weights, in float64."""
    own = own_shares(request, heads)
    rounds, stream = groups(request.length, len(own), GROUP), blocks(request, own)
    constants = anchored(request, stream)
    scores, sinks = positions(request, own)
    mlp = (*reading(request, stream, rounds, current=False), *counting(request, stream, tokens(own), 2 * len(rounds)))
    return assemble(
        stream,
        Layer((*position_heads(stream, own), *window_heads(request, stream)), mlp),
        constants=constants,
        beginning=stream.vector(beginning=1.0, **constants),
        positions=stream.rows(request.length, scores=scores, sinks=sinks),
    )


def blocks(request: Request, own: list[tuple[int, int]]) -> Stream:
    """Blocks: the token, the scores of positions, the outputs of heads and their digits, the window, the output."""
    rounds = groups(request.length, len(own), GROUP)
    codes = [f"code_{head}" for head in range(1, len(own) + 1)] if rounds else []
    read = list(dict.fromkeys(block for position in tokens(own).values() for block, _ in position))
    window = [f"recent_{j}" for j in range(1, request.order)]
    symbols = dict.fromkeys(("token", *codes, *read, *window, "output"), request.alphabet_size)
    return Stream(beginning=1, scores=len(own), sinks=len(own), **symbols)


def tokens(own: list[tuple[int, int]]) -> Tokens:
    """The token at every position as a sum of blocks; earlier positions of a share have higher digits."""
    if own[0][1] == 1:
        return {first: [(f"at_{first}", 1.0)] for first, _ in own}
    length = sum(count for _, count in own)
    found = digits(length, len(own), GROUP)
    return {t: found[2 * first + count - t] for first, count in own for t in range(first, first + count)}


def positions(
    request: Request, own: list[tuple[int, int]]
) -> tuple[Float[np.ndarray, "places heads"], Float[np.ndarray, "places heads"]]:
    """The score of every position as a key of each head, and that of ⊢ for it as a query.

    In a head's share the positions weigh 2^-j, j = 0, 1, …, and once e of them are past, ⊢ weighs 2^(1-e): 2 in all. A
    head of one position needs ⊢ only before that position.
    """
    places, none = np.arange(request.length)[:, None], vanishing_score(request)
    first, count = np.array(own).T
    alone = own[0][1] == 1
    inside = (places >= first) & (places < first + count)
    there = np.clip(places - first + 1, 0, count)
    scores = np.where(inside, -(places - first) * math.log(2), none)
    sinks = np.where(there == 0, 0.0, none if alone else (1 - there) * math.log(2))
    return scores, sinks


def position_heads(stream: Stream, own: list[tuple[int, int]]) -> tuple[Head, ...]:
    """The scores of tokens depend on the key's position alone, that of ⊢ on the query's; the value of ⊢ is zero."""
    space, symbol = Stream(place=1, sink=1), Stream(symbol=dict(stream.blocks)["token"])

    def one(head: int, first: int, count: int) -> Head:
        chosen = np.eye(1, len(own), head)
        write, scale = (f"at_{first}", 1.0) if own[0][1] == 1 else (f"code_{head + 1}", 2.0**count)
        return Head(
            query=stream.map(("token", "place", 1.0), ("sinks", "sink", chosen), to=space),
            key=stream.map(("scores", "place", chosen), ("beginning", "sink", 1.0), to=space),
            value=stream.map(("token", "symbol", scale), to=symbol),
            projection=symbol.map(("symbol", write, 1.0), to=stream),
        )

    return tuple(one(head, *share) for head, share in enumerate(own))


def window_heads(request: Request, stream: Stream) -> tuple[Head, ...]:
    """The tokens at offsets 1 … k-1; positions without some of them match nothing and have no guarantee."""
    space, symbol = Stream(score=1), Stream(symbol=request.alphabet_size)
    return tuple(
        Head(
            query=stream.map(("token", "score", 1.0), to=space),
            key=stream.map(to=space),
            value=stream.map(("token", "symbol", 1.0), to=symbol),
            projection=symbol.map(("symbol", f"recent_{j}", 1.0), to=stream),
            key_positions=space.table({j: {"score": -vanishing_score(request)}}),
        )
        for j in range(1, request.order)
    )


def counting(request: Request, stream: Stream, found: Tokens, skip: int) -> tuple[MLPLayer, ...]:
    """Agreements; matches by next symbol; N_s; |N - q|; N_s/q where q = N; their sum, added to the stream."""
    k, s, t = request.order, request.alphabet_size, request.length
    j, symbol = t - k, Stream(symbol=s)

    def read(*parts: tuple[str, float]) -> Float[np.ndarray, "symbols d"]:
        return stream.map(*((block, "symbol", factor) for block, factor in parts), to=symbol)

    at = np.stack([read(*found[place]) for place in range(t)])
    window = np.stack([read((name, 1.0)) for name in ("token", *(f"recent_{i}" for i in range(1, k)))])
    ends = np.arange(k, t)
    agreements = np.stack([window[i - 1] + at[ends - i] for i in range(1, k + 1)])  # [offset, place, symbol]
    first = np.concatenate([agreements, at[ends][None]]).reshape(-1, stream.dimension)
    symbols, sizes = np.eye(s), np.arange(1.0, j + 1)
    by_size, by_place = np.kron(np.eye(j), np.ones((s, 1))), np.kron(np.eye(j), np.ones((s, s)))
    parts: list[tuple[np.ndarray, np.ndarray | None]] = [
        (first, np.repeat([-1.0, 0.0], [k * j * s, j * s])),
        (np.hstack([np.tile(by_place, (1, k)), np.eye(j * s)]), np.full(j * s, -float(k))),
        (np.tile(symbols, (1, j)), None),
        (np.vstack([np.ones((j, s)), -np.ones((j, s)), symbols]), np.concatenate([-sizes, sizes, np.zeros(s)])),
        (np.hstack([-2 * by_size, -2 * by_size, np.kron(1 / sizes[:, None], symbols)]), None),
    ]
    written = symbol.map(("symbol", "output", 1.0), to=stream) @ np.tile(symbols, (1, j))
    return (*(MLPLayer(weight, bias) for weight, bias in parts), MLPLayer(written, None, "none", skip=skip))


def size(request: Request, heads: int) -> int:
    """The number of weights, computed without building them."""
    k, s, t, own = request.order, request.alphabet_size, request.length, own_shares(request, heads)
    j, h = t - k, len(own)
    digits = 0 if own[0][1] == 1 else sum(3 * count // 2 for _, count in own)
    d = 1 + 2 * h + s * (1 + k + (h + digits if digits else t))
    ends = d * (2 * s + 1 + t) + (h + k - 1) * 2 * s * d + 4 * h * d + (k - 1) * 2 * d
    tables = sum(32 * (1 + offset // 32) for offset in range(1, k))
    depth = max(count for _, count in own) + 1 >> 1 if digits else 0
    reading = 2 * digits * s * d + digits * s + depth * d
    units = j * s
    hidden = units * ((k + 1) * d + (k + 1) * units + s + 2 * j + s + d) + s * (2 * j + s)
    biases = (k + 1) * units + units + 2 * j + s
    return ends + tables + reading + hidden + biases


def check_size(request: Request, heads: int) -> None:
    """Reject a model that does not fit into memory, and name the length that fits."""

    def numbers(length: int) -> int:
        asked = dataclasses.replace(request, length=length)
        maps = (min(heads or length, length) + request.order - 1) * (length + 1) ** 2
        return max(maps, size(asked, min(heads, length)) if maps <= LARGEST else 0)

    fitting = bisect.bisect_left(range(request.order + 1, request.length + 1), True, key=lambda t: numbers(t) > LARGEST)
    require(
        numbers(request.length) <= LARGEST,
        f"`one-layer` with {request.length} tokens would have {numbers(request.length)} numbers in its weights or "
        f"attention maps, at most {LARGEST} fit; use length ≤ {request.order + fitting}"
        + ("" if heads else ", pack positions into fewer heads (`heads=`)")
        + ", or `unrolled`",
    )


def proof(request: Request, heads: int = 0) -> tuple[Step, ...]:
    """The proof steps: copy all positions, compare, count, divide."""
    own = own_shares(request, heads)
    return (
        *(_copy_steps() if own[0][1] == 1 else _code_steps(request, own)),
        *_window_steps(request, own),
        *_counting_steps(request, own),
    )


def _copy_steps() -> tuple[Step, ...]:
    return (
        Step(
            "Copy every position, one head each",
            "A key contains only its own token, so no head can find a match. Instead there is a head for every "
            "position: it copies the token there and, at earlier positions, attends to the beginning token ⊢. The "
            "longer the sequence, the more heads.",
            "att_t(n, t) = 1 for t ≤ n,   at_t = e_{x_t}",
            "ours",
            {
                "positions": "scores of every position as a key, and of ⊢ next to it, for each head",
                "layers.0.heads.0.key": "reads the score of head 1",
                "layers.0.heads.0.projection": "writes the token to `at_0`",
            },
            (
                *(steps.Attention(f"attention of the head of position {t}", 0, t) for t in range(3)),
                *(steps.Block(f"x_{t}", f"at_{t}", "attention 1") for t in range(3)),
            ),
        ),
    )


def _code_steps(request: Request, own: list[tuple[int, int]]) -> tuple[Step, ...]:
    last = f"mlp 1.{2 * len(groups(request.length, len(own), GROUP))}"
    found = tokens(own)
    shown = min(own[0][1], 4)
    return (
        Step(
            "Carry the positions as numbers",
            "A key contains only its own token, so no head can find a match. Instead each head encodes a share of all "
            "positions, as the digits of one number for every symbol, the earliest on top. The beginning token ⊢ has "
            "the weight of the positions that are still to come." + steps.ANCHORED,
            "att(n, t) = 2^-(1 + t - a) for t = a … a + m - 1,   code = Σ_t 2^(a + m - 1 - t) e_{x_t},   m = ⌈T/H⌉",
            "ours, after `unrolled`",
            {
                "positions": "scores of every position as a key, and of ⊢ next to it, for each head",
                "layers.0.heads.0.value": "2^m e_x",
                "layers.0.heads.0.projection": "writes the number to `code_1`; head h to `code_h`",
            },
            (steps.Attention("attention of head 1", 0), steps.Block("code of head 1", "code_1", "attention 1")),
        ),
        Step(
            "Read their digits",
            "Two layers for each pair of digits, from the top: a ReLU compares the remainder of the number with whole "
            "thresholds, a second one makes 1 and 0 of it.",
            "t = ReLU(τ·2^l - r),   [r ≥ τ·2^l] = ReLU(1 - t)",
            "ours, as in `unrolled`",
            {"layers.0.mlp.0.weight": "minus the code, plus the digits that are known"},
            tuple(steps.Combined(f"x_{t}", tuple(found[t]), last) for t in range(shown)),
        ),
    )


def _window_steps(request: Request, own: list[tuple[int, int]]) -> tuple[Step, ...]:
    k, heads = request.order, f"layers.0.heads.{len(own)}"
    if k == 1:
        return ()
    step = steps.copies(
        min(k - 1, 3), "recent", "ours", {f"{heads}.key_positions": "a pull at offset 1; the next head at offset 2"}
    )
    moved = (
        dataclasses.replace(show, head=show.head + len(own)) if isinstance(show, steps.Attention) else show
        for show in step.shows
    )
    return (dataclasses.replace(step, title="Copy the window, one head each", shows=tuple(moved), here="recent"),)


def _counting_steps(request: Request, own: list[tuple[int, int]]) -> tuple[Step, ...]:
    base = 2 * len(groups(request.length, len(own), GROUP))
    mlp = f"layers.0.mlp.{base + 1}"
    return (
        Step(
            "Compare the window with every earlier one",
            "One unit for every earlier position and offset tests whether two tokens agree, one for every position "
            "and symbol whether all k agree and the symbol came next. The figure shows the sum of these over symbols.",
            "match(t, s) = ReLU(Σ_{i=1..k} Σ_r ReLU(x_{n-i+1,r} + x_{t-i,r} - 1) + x_{t,s} - k)",
            "ours",
            {
                f"layers.0.mlp.{base}.weight": "pairs of tokens",
                f"{mlp}.weight": "adds the agreements of one position, and its token",
                f"{mlp}.bias": "-k",
            },
            (steps.Hidden("matches", 0, base + 1, keys=True),),
            "matches",
        ),
        Step(
            "Count what came next",
            "The matches of every symbol are added up.",
            "N_s = Σ_t match(t, s)",
            "Definition 2",
            {f"layers.0.mlp.{base + 2}.weight": "adds over positions"},
            (steps.Hidden("N_s", 0, base + 2),),
            "counts",
        ),
        Step(
            "Divide",
            "A ReLU network can multiply only by constants. So it computes N_s/q for every q from 1 to T - k, and sets "
            "all of them to zero except the one with q = N.",
            "Σ_q ReLU(N_s/q - 2|N - q|) = N_s/N",
            "ours: N_s/q ≤ N/q ≤ 2|N - q| for every whole q ≠ N",
            {
                f"layers.0.mlp.{base + 3}.bias": "-q and q: the parts of |N - q|",
                f"layers.0.mlp.{base + 4}.weight": "1/q for N_s, -2 for |N - q|",
                "output": "W_o reads `output`",
            },
            (steps.Prediction(),),
            "counts",
        ),
    )


ONE_LAYER = Construction(
    name="one-layer",
    title="one attention layer with a head per position, counts in the MLP",
    advice="Use it to see the cost of a single layer: heads and weights grow with the sequence length.",
    heads="T + k - 1",
    dimension="(T + k + 1)S + 2T + 1",
    mlp=("6", "(k + 1)S(T - k)"),
    parameters="d(2S(T + k) + 5T + 2k - 1 + (k + 2)S(T - k)) + T(2T + k - 1) + 2(T - k) + S² + S"
    " + S(T - k)((k + 1)S(T - k) + 2(T - k) + 2S + k + 4)",
    state="T(T(S + 2) + (k - 1)(S + 1))",
    bounded="heads",
    margin="1",
    build=one_layer,
    analyse=analyse,
    steps=proof,
    options=(
        Option(
            "heads",
            0,
            "heads that carry positions, each with its share of them; 0 is one for every position",
            least=0,
            usual="p - 2 positions fit into a head",
            relieves="length",
        ),
    ),
    width=lambda request: (request.order + 1) * request.alphabet_size * (request.length - request.order),
    check_size=check_size,
    last_order=16,
    measured_length=64,
    instead=("unrolled",),
)
