"""`unrolled`: one head up to the limit of its bits. The MLP reads the code digit by digit, and digits are compared.

Layer one writes the window as the number v_n = Σ_{i=1..m} 2^(i-1) e_{x_{n-i}}, one coordinate for each symbol, as in
`dyadic`. Its digits are one-hot tokens: the MLP extracts them from the top, two layers for each group of
digits, and layer two counts agreements: margin 1 at every order. With p mantissa bits a head encodes
m = p - 2 offsets. Each of H heads writes the number of its own share of the offsets, so that the order is H(p - 2);
`k-head` is the case of one offset per head (`heads` is None): the code is a single digit, so that there is no MLP, and
every dtype supports every order.

All values before layer two are integers below 2^p, and exact:

* the offsets of a window have the scores (i - m)·log 2, the oldest exactly 0, so that the largest weights have the
  smallest rounding; the current token has the score of the newest, so that the weights add up to a power of two;
* every other offset up to T has a score whose exponential is 0;
* an anchor M = 2^(p-1) in the block of the code: stored numbers from M to 2M are integers, so that adding the head's
  output rounds it to the nearest integer. The MLP subtracts M and the current token.

`unrolled-bayes` has the sink of `k-head-bayes`: a match scores 0, the beginning token log(β S).
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Sequence
from functools import partial

import numpy as np
from jaxtyping import Float

from anyorder.constructions.certificate import EQUAL_SCORES, WHOLE_SUMS, Analysis, Request, unit_roundoff
from anyorder.constructions.construction import BETA, Construction, Option
from anyorder.constructions.digits import Group, digits, groups, read_so_far, shares
from anyorder.constructions.parts import assemble, fitting, vanishing_pull, vanishing_score
from anyorder.constructions.stream import Route, Stream, Value
from anyorder.constructions.unrolled_proof import proof, proof_bayes
from anyorder.errors import require
from anyorder.models import Head, Layer, MLPLayer, Transformer


def anchor(request: Request) -> float:
    """M = 2^(p-1): from M to 2M the stored numbers are the integers."""
    return 0.5 / unit_roundoff(request.dtype)


def analyse(request: Request, heads: int | None = 1, group: int = 2) -> Analysis:
    """At most k + 1 agreements of kappa each, a power of two: every addition rounds at most once."""
    k, heads = request.order, heads or request.order
    require(heads <= k, f"heads is {heads}, must be at most the order {k}, one per offset; pass `heads={k}` or less")
    longest, agreements = shares(k, heads)[0][1], k + 1.0
    return Analysis(
        margin=1.0,
        miss_units=2.0 * agreements,
        size=agreements,
        code_bits=longest + 2 if longest > 1 else 0,
        whole=True,
        assumes=(EQUAL_SCORES, WHOLE_SUMS) if longest > 1 else (EQUAL_SCORES,),
    )


def analyse_bayes(request: Request, beta: float = 1.0, heads: int | None = 1, group: int = 2) -> Analysis:
    """The sink is rounded in log(β S) and in exp, which changes p by at most 1/4 of that."""
    sink = (abs(math.log(beta * request.alphabet_size)) + 2) / 4
    return dataclasses.replace(analyse(request, heads, group), output_units=4 + sink, estimator="bayes")


def unrolled(request: Request, kappa: float, heads: int | None = 1, group: int = 2) -> Transformer:
    """`full` is 1 with a full window: one more agreement, so that no partial window scores as a full match."""
    gates = ["gate"] if heads in (None, request.order) else ["gate", "full"]
    return _member(
        request, kappa, heads, group, gates, query=[("token", "extra", kappa)], key=[(gates[-1], "extra", 1.0)]
    )


def unrolled_bayes(
    request: Request, kappa: float, beta: float = 1.0, heads: int | None = 1, group: int = 2
) -> Transformer:
    """A match scores kappa·k - kappa·k = 0, the beginning token log(β S).

    A window with the beginning token lacks a digit there, so it needs no gate.
    """
    k, s = request.order, request.alphabet_size
    return _member(
        request,
        kappa,
        heads,
        group,
        ["beginning"],
        query=[("token", "extra", 1.0)],
        key=[("token", "extra", -kappa * k), ("beginning", "extra", math.log(beta * s))],
        value=[("beginning", "output", 1 / s)],
    )


def _member(
    request: Request, kappa: float, heads: int | None, group: int, single: list[str], **further: Sequence[Route]
) -> Transformer:
    """The model: the number of the window, its digits, and their match; `single` blocks have width one."""
    heads = heads or request.order
    rounds = groups(request.order, heads, group)
    stream = fitting(request, blocks(request, rounds, heads, single))
    constants = anchored(request, stream)
    return assemble(
        stream,
        Layer(window_heads(request, stream, heads, gate="gate" in single), reading(request, stream, rounds)),
        Layer((matching_head(request, stream, kappa, digits(request.order, heads, group), **further),)),
        constants=constants,
        beginning=stream.vector(beginning=1.0, **constants) if "beginning" in single else None,
    )


def blocks(request: Request, rounds: list[list[Group]], heads: int, single: list[str]) -> Stream:
    """`token`, the code of each head, the blocks of its digits, `output`."""
    s = request.alphabet_size
    read = [block for together in rounds for one in together for block in one.blocks().values()]
    codes = [f"code_{head}" for head in range(1, heads + 1)] if rounds else []
    backs = read if rounds else [f"back_{j}" for j in range(1, request.order + 1)]
    return Stream(**dict.fromkeys(single, 1), token=s, **dict.fromkeys((*codes, *backs), s), output=s)


def anchored(request: Request, stream: Stream) -> dict[str, Value]:
    """The blocks of the stream with the anchor M."""
    names = [name for name, _ in stream.blocks]
    whole = [name for name in names if name.startswith("code_") or (name == "gate" and "full" in names)]
    return dict.fromkeys(whole, anchor(request))


def window_heads(request: Request, stream: Stream, heads: int, *, gate: bool) -> tuple[Head, ...]:
    """Layer one: head h adds up its share of the offsets; the last head also writes 1 to `gate`, if offset k exists.

    The weights of m offsets and of the current token are 2^(i-m) and 2^(1-m): they add up to 2, so that 2^m times
    their mean is Σ 2^(i-1) e_{x_{n-i}} + e_{x_n}.
    """
    k, space, values = request.order, Stream(score=1), Stream(token=request.alphabet_size, gate=1)
    alone = heads == k

    def one(head: int, offset: int, count: int) -> Head:
        write = f"back_{offset + 1}" if alone else f"code_{head}"
        opens = gate and offset + count == k
        return Head(
            query=stream.map(("token", "score", 1.0), to=space),
            key=stream.map(to=space),
            value=stream.map(("token", "token", 1.0 if alone else 2.0**count), to=values),
            projection=values.map(("token", write, 1.0), *([("gate", "gate", 1.0)] if gate else []), to=stream),
            key_positions=space.table({offset + 1: {"score": vanishing_pull(request)}})
            if alone
            else _scores(request, offset, count),
            value_positions=values.table({k: {"gate": (1.0 if alone else 2.0) * opens}}),
        )

    return tuple(one(head, *share) for head, share in enumerate(shares(k, heads), start=1))


def _scores(request: Request, offset: int, count: int) -> Float[np.ndarray, "offsets 1"]:
    """(i - m)·log 2 in the window, the newest token's score at offset 0, and elsewhere scores whose exp is zero."""
    rows = 32 * (1 + request.length // 32)
    scores = np.full(rows, vanishing_score(request, count + 1))
    scores[offset + 1 : offset + count + 1] = np.arange(1 - count, 1) * math.log(2)
    scores[0] = (1 - count) * math.log(2)
    return scores[:, None]


def reading(
    request: Request, stream: Stream, rounds: list[list[Group]], *, current: bool = True
) -> tuple[MLPLayer, ...]:
    """Two layers for each round: t = ReLU(τ·2^low - r), r the remainder of a code, then ReLU(1 - t) = [r ≥ τ·2^low].

    All numbers are integers: t is 0 or at least 1. `current` subtracts the current token, which is in the code.
    """
    m, names, layers = anchor(request), [name for name, _ in stream.blocks], []
    for turn, together in enumerate(rounds):
        routes: list[Route] = []
        thresholds: dict[str, Value] = {}
        for one in together:
            taken = read_so_far(rounds[:turn], one.head)
            for value, block in one.blocks().items():
                routes += [(f"code_{one.head + 1}", block, -1.0), *([("token", block, 1.0)] if current else [])]
                routes += [(read, block, size) for read, size in taken]
                thresholds[block] = m + value * 2.0**one.low
        if turn == 0 and "full" in names:
            routes.append(("gate", "full", -1.0))
            thresholds["full"] = m + 1
        hidden = Stream(**{block: dict(stream.blocks)[block] for block in thresholds})
        layers += [
            MLPLayer(stream.map(*routes, to=hidden), hidden.vector(**thresholds)),
            MLPLayer(
                hidden.map(*((block, block, -1.0) for block in thresholds), to=stream),
                stream.vector(**dict.fromkeys(thresholds, 1.0)),
                skip=2 * turn,
            ),
        ]
    return tuple(layers)


def matching_head(
    request: Request,
    stream: Stream,
    kappa: float,
    backs: dict[int, list[tuple[str, float]]],
    *,
    query: Sequence[Route] = (),
    key: Sequence[Route] = (),
    value: Sequence[Route] = (),
) -> Head:
    """Agreements x_{n-j+1} = x_{i-j}, j = 1 … k, kappa each; further routes go through `extra`."""
    s, k = request.alphabet_size, request.order
    extra = {"extra": 1} if query else {}
    space, output = Stream(**extra, **{f"back_{j}": s for j in range(1, k + 1)}), Stream(output=s)
    current: list[Route] = [("token", "back_1", kappa)]
    current += [(block, f"back_{j + 1}", kappa * factor) for j in range(1, k) for block, factor in backs[j]]
    before: list[Route] = [(block, f"back_{j}", factor) for j in range(1, k + 1) for block, factor in backs[j]]
    return Head(
        query=stream.map(*current, *query, to=space),
        key=stream.map(*before, *key, to=space),
        value=stream.map(("token", "output", 1.0), *value, to=output),
        projection=output.map(("output", "output", 1.0), to=stream),
    )


_OPTIONS = (
    Option(
        "heads",
        1,
        "heads of layer one, each with its share of the offsets",
        least=1,
        usual="each further head carries as many offsets again",
        relieves="order",
    ),
    # Depth is 2⌈m/b⌉ and the MLP has (2^b - 1)/b times the weights of b = 1: b = 2 makes their product least.
    Option(
        "group", 2, "digits that the MLP reads at once: less depth, more width", least=1, most=6, usual="2 is usual"
    ),
)

UNROLLED = Construction(
    name="unrolled",
    title="one head, the MLP reads its code digit by digit",
    advice="Use it for high orders: supports order 22 per head in float32, 51 in float64.",
    dimension="(⌊3k/2⌋ + 3)S + 2",
    mlp=("2⌈k/2⌉", "3S + 1"),
    parameters="d(2kS + 6S + 6 + 2(⌊3k/2⌋S + 1) + ⌈k/2⌉) + ⌊3k/2⌋S + 1 + T(kS + 2)",
    state="T(kS + 2S + 3)",
    margin="1",
    build=unrolled,
    analyse=analyse,
    steps=proof,
    options=_OPTIONS,
    last_order=64,
    variants=({"heads": 2}, {"heads": 4}),
    instead=("k-head",),
)

UNROLLED_BAYES = dataclasses.replace(
    UNROLLED,
    name="unrolled-bayes",
    title="unrolled with a beginning token as sink: add-β smoothing",
    advice="Use it for the Bayes predictor with one head, up to the same orders.",
    dimension="(⌊3k/2⌋ + 3)S + 1",
    mlp=("2⌈k/2⌉", "3S"),
    parameters="d(2kS + 6S + 7 + 2⌊3k/2⌋S + ⌈k/2⌉) + ⌊3k/2⌋S + T(kS + 2)",
    build=unrolled_bayes,
    analyse=analyse_bayes,
    steps=proof_bayes,
    options=(BETA, *_OPTIONS),
    instead=("k-head-bayes",),
)

K_HEAD = Construction(
    name="k-head",
    title="head j copies the token at offset j",
    source="after Nichani et al.",
    advice="Use it for any order in any dtype, if you can afford k heads: nothing is packed or rounded.",
    heads="k, 1",
    dimension="(k + 2)S + 1",
    parameters="d(4(k + 1)(S + 1) - 2) + T(kS + k + 1)",
    state="T(2k(S + 1) + S + 1)",
    margin="1",
    build=partial(unrolled, heads=None),
    analyse=partial(analyse, heads=None),
    steps=partial(proof, heads=None),
    last_order=16,
    instead=(),
)

K_HEAD_BAYES = dataclasses.replace(
    K_HEAD,
    name="k-head-bayes",
    title="k-head with a beginning token as sink: add-β in every dtype",
    source="ours",
    advice="Use it for the Bayes predictor at any order in any dtype, if you can afford k heads.",
    parameters="d(4(k + 1)(S + 1) - 1) + T(kS + k + 1)",
    build=partial(unrolled_bayes, heads=None),
    analyse=partial(analyse_bayes, heads=None),
    steps=partial(proof_bayes, heads=None),
    options=(BETA,),
)
