"""`unrolled`: one head up to the limit of its bits. The MLP reads the code digit by digit, and digits are compared.

Layer one writes the window as the number v_n = Σ_{i=1..m} 2^(i-1) e_{x_{n-i}}, one coordinate for each symbol, as
`dyadic` does. Its digits are one-hot tokens: the MLP takes them off from the top, two layers for each group of
digits, and layer two counts agreements: margin 1 whatever the order is. With p mantissa bits a head holds
m = p - 2 offsets. With H heads each writes the number of its own share of the offsets, so that the order is H(p - 2);
`k-head` is the member with one offset a head, whose number is its digit: it needs no MLP.

Everything before layer two is a whole number below 2^p, and exact:

* the offsets of a window have the scores (i - m)·log 2, the oldest exactly 0, so that they are rounded least where
  they weigh most; the current token has the score of the newest, which makes the weights add up to a power of two;
* every other offset up to T has a score whose exponential is 0;
* an anchor M = 2^(p-1) in the block of the code: stored numbers from M to 2M are whole, so that adding what the head
  found rounds it to the nearest whole number. The MLP takes M, and the current token, off again.

`unrolled-bayes` has the sink of `k-head-bayes`: a match scores 0, the beginning token log(β S).
"""

from __future__ import annotations

import dataclasses
import math

import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from anyorder.constructions import steps
from anyorder.constructions.certificate import EQUAL_SCORES, WHOLE_SUMS, Analysis, Request, unit_roundoff
from anyorder.constructions.construction import BETA, Case, Construction, Option
from anyorder.constructions.digits import Group, digits, groups, shares
from anyorder.constructions.parts import assemble, vanishing_pull
from anyorder.constructions.steps import Show, Step
from anyorder.constructions.stream import Route, Stream, Value
from anyorder.errors import require
from anyorder.numerics import DTYPES
from anyorder.transformer import Head, Layer, MLPLayer, Transformer


def anchor(request: Request) -> float:
    """M = 2^(p-1): from M to 2M the stored numbers are the whole ones."""
    return 0.5 / unit_roundoff(request.dtype)


def analyse(request: Request, heads: int = 1, group: int = 2) -> Analysis:
    """At most k + 1 agreements, each worth kappa = a power of two: sums of them round at most once each."""
    k = request.order
    require(heads <= k, f"heads is {heads}, must be at most the order {k}, one an offset; pass `heads={k}` or less")
    longest, agreements = shares(k, heads)[0][1], k + 1.0
    return Analysis(
        margin=1.0,
        miss_units=2.0 * agreements,
        size=agreements,
        code_bits=longest + 2 if longest > 1 else 0,
        whole=True,
        assumes=(EQUAL_SCORES, WHOLE_SUMS) if longest > 1 else (EQUAL_SCORES,),
    )


def analyse_bayes(request: Request, beta: float = 1.0, heads: int = 1, group: int = 2) -> Analysis:
    """The sink is rounded in log(β S) and in exp, and moves p by 1/4 of that at most."""
    sink = (abs(math.log(beta * request.alphabet_size)) + 2) / 4
    return dataclasses.replace(analyse(request, heads, group), output_units=4 + sink, estimator="bayes")


def unrolled(request: Request, kappa: float, heads: int = 1, group: int = 2) -> Transformer:
    """`full` is 1 with a full window: one agreement more, so that no partial window reaches a full match."""
    rounds = groups(request.order, heads, group)
    stream = blocks(request, rounds, heads, {"gate": 1, "full": 1} if rounds else {"gate": 1})
    match = matching_head(
        request,
        stream,
        kappa,
        digits(request.order, heads, group),
        query=[("token", "extra", kappa)],
        key=[("full" if rounds else "gate", "extra", 1.0)],
    )
    return assemble(
        stream,
        Layer(window_heads(request, stream, heads, gate=True), reading(request, stream, rounds)),
        Layer((match,)),
        constants=anchored(request, stream),
    )


def unrolled_bayes(request: Request, kappa: float, beta: float = 1.0, heads: int = 1, group: int = 2) -> Transformer:
    """A match scores kappa·k - kappa·k = 0, the beginning token log(β S).

    A window with the beginning token lacks a digit there, so it needs no gate.
    """
    k, s = request.order, request.alphabet_size
    rounds = groups(k, heads, group)
    stream = blocks(request, rounds, heads, {"beginning": 1})
    match = matching_head(
        request,
        stream,
        kappa,
        digits(k, heads, group),
        query=[("token", "extra", 1.0)],
        key=[("token", "extra", -kappa * k), ("beginning", "extra", math.log(beta * s))],
        value=(("beginning", "output", 1 / s),),
    )
    constants = anchored(request, stream)
    return assemble(
        stream,
        Layer(window_heads(request, stream, heads, gate=False), reading(request, stream, rounds)),
        Layer((match,)),
        constants=constants,
        beginning=stream.vector(beginning=1.0, **constants),
    )


def blocks(request: Request, rounds: list[list[Group]], heads: int, extra: dict[str, int]) -> Stream:
    """`token`, the code of each head, the blocks that its digits are read into, `output`."""
    s = request.alphabet_size
    read = [block for together in rounds for one in together for block in one.blocks().values()]
    codes = [f"code_{head}" for head in range(1, heads + 1)] if rounds else []
    backs = read if rounds else [f"back_{j}" for j in range(1, request.order + 1)]
    return Stream(**extra, token=s, **dict.fromkeys((*codes, *backs), s), output=s)


def anchored(request: Request, stream: Stream) -> dict[str, Value]:
    """The blocks of the stream that hold M."""
    names = [name for name, _ in stream.blocks]
    whole = [name for name in names if name.startswith("code_") or (name == "gate" and "full" in names)]
    return dict.fromkeys(whole, anchor(request))


def window_heads(request: Request, stream: Stream, heads: int, *, gate: bool) -> tuple[Head, ...]:
    """Layer one: head h adds up its share of the offsets; the last head also writes 1 to `gate`, if offset k is there.

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


def _scores(request: Request, offset: int, count: int) -> Float[Array, "offsets 1"]:
    """(i - m)·log 2 in the window, the newest one's at offset 0, and elsewhere up to T what exp takes to zero."""
    smallest = float(jnp.finfo(DTYPES[request.dtype]).smallest_subnormal)
    rows = 32 * (1 + request.length // 32)
    scores = np.full(rows, math.floor(math.log(smallest) - (count + 1) * math.log(2)), np.float64)
    scores[offset + 1 : offset + count + 1] = np.arange(1 - count, 1) * math.log(2)
    scores[0] = (1 - count) * math.log(2)
    return jnp.asarray(scores[:, None])


def reading(request: Request, stream: Stream, rounds: list[list[Group]]) -> tuple[MLPLayer, ...]:
    """Two layers for each round: t = ReLU(τ·2^low - r) with r what is left of a code, then ReLU(1 - t) = [r ≥ τ·2^low].

    Whole numbers throughout: t is 0, or at least 1.
    """
    m, names, layers = anchor(request), [name for name, _ in stream.blocks], []
    for turn, together in enumerate(rounds):
        routes: list[Route] = []
        thresholds: dict[str, Value] = {}
        for one in together:
            above = [other for earlier in rounds[:turn] for other in earlier if other.head == one.head]
            taken = [(block, 2.0**other.low) for other in above for block in other.blocks().values()]
            for value, block in one.blocks().items():
                routes += [(f"code_{one.head + 1}", block, -1.0), ("token", block, 1.0)]
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
    query: list[Route],
    key: list[Route],
    value: tuple[Route, ...] = (),
) -> Head:
    """Agreements x_{n-j+1} = x_{i-j}, j = 1 … k, kappa each; further routes go through `extra`."""
    s, k = request.alphabet_size, request.order
    space, output = Stream(extra=1, **{f"back_{j}": s for j in range(1, k + 1)}), Stream(output=s)
    current: list[Route] = [("token", "back_1", kappa)]
    current += [(block, f"back_{j + 1}", kappa * factor) for j in range(1, k) for block, factor in backs[j]]
    before: list[Route] = [(block, f"back_{j}", factor) for j in range(1, k + 1) for block, factor in backs[j]]
    return Head(
        query=stream.map(*current, *query, to=space),
        key=stream.map(*before, *key, to=space),
        value=stream.map(("token", "output", 1.0), *value, to=output),
        projection=output.map(("output", "output", 1.0), to=stream),
    )


#: What copies the tokens.
HEADS = {
    "layers.0.heads.0.key_positions": "p^K of head 1: a pull at offset 1; head j has it at offset j",
    "layers.0.heads.0.projection": "writes the token to `back_1`; head j to `back_j`",
}

#: Why layer two needs no bits.
AGREE = (
    "Layer 2 compares block by block: the score is kappa times the number of tokens that agree. One token less is "
    "one kappa less, whatever the order."
)


def agreement_step(before: str, gate: str) -> Step:
    """Layer two without a sink."""
    return steps.match(
        f"{AGREE} A full window counts as one agreement more.",
        "score(n, i) = kappa · (#{j : x_{i-j} = x_{n-j+1}} + gate_i)",
        "after Nichani et al., layer 2: A^(2)",
        before=before,
        query="kappa times the current token and those at offsets 1 … k-1",
        key=f"the tokens at offsets 1 … k, and {gate}",
    )


def sink_step(before: str) -> Step:
    """Layer two with a sink."""
    return steps.match(
        f"{AGREE} A match is shifted to the score 0, and the beginning token ⊢ scores log(β S): a sink that is "
        "exact in every dtype.",
        "score(n, i) = kappa · (#agreements - k),   score(n, ⊢) = log(β S)",
        "ours",
        before=before,
        query="kappa times the current token and those at offsets 1 … k-1, and 1 for `extra`",
        key="the tokens at offsets 1 … k; -kappa·k for a token, log(β S) for the sink",
        title="Find the same window, next to a sink",
    )


def code_step(order: int, heads: int) -> Step:
    """Layer one: the numbers."""
    shows: list[Show] = []
    for head, (offset, count) in enumerate(shares(order, heads), start=1):
        name = f"head {head}, " if heads > 1 else ""
        shows += [
            steps.Attention(f"{name}attention", 0, head - 1, (offset + 1, offset + count)),
            steps.Combined(f"{name}v_n", ((f"code_{head}", 1.0), ("token", -1.0)), "attention 1"),
        ]
    share = "the k tokens before n" if heads == 1 else "its share of the k tokens before n"
    return Step(
        "Write the window as a number",
        f"Each head of layer 1 attends to {share}, each older one twice as strongly, and to the current token as much "
        "as to the newest of them. The weights add up to a power of two, so the sum is a whole number: one for each "
        "symbol, and its binary digits say at which offsets the symbol stands." + steps.ANCHORED,
        "att(n, n-i) = 2^(i-1-m) for i = 1 … m,   v_n = Σ_{i=1..m} 2^(i-1) e_{x_{n-i}},   m = ⌈k/H⌉",
        "ours, after App. B layer 1: base 2, no offset outside the window has any weight",
        {
            "layers.0.heads.0.key_positions": "p^K_i = (i - m) log 2 in the window, and elsewhere what exp takes to 0",
            "layers.0.heads.0.value": "2^m e_x",
            "layers.0.heads.0.projection": "writes the number to `code_1`; head h to `code_h`",
        },
        tuple(shows),
        "window",
    )


def reading_steps(order: int, heads: int, group: int) -> tuple[Step, ...]:
    """The MLP: digits appear one group after the other."""
    made = []
    for turn, together in enumerate(groups(order, heads, group)):
        found = {offset: blocks for one in together for offset, blocks in one.digits()}
        point = f"mlp 1.{2 * turn + 2}"
        rest: list[Show] = []
        for one in together:
            name = f"head {one.head + 1}, " if heads > 1 else ""
            read = [other for earlier in groups(order, heads, group)[: turn + 1] for other in earlier]
            taken = [
                (block, -(2.0**other.low))
                for other in read
                if other.head == one.head
                for block in other.blocks().values()
            ]
            rest.append(
                steps.Combined(
                    f"{name}what is left of v_n", ((f"code_{one.head + 1}", 1.0), ("token", -1.0), *taken), point
                )
            )
        offsets = ", ".join(map(str, sorted(found)))
        made.append(
            Step(
                f"Read the digit{'s' * (len(found) > 1)} at offset{'s' * (len(found) > 1)} {offsets}",
                "What the largest digits say is taken off the number before the next ones are read. One ReLU is 0 "
                "exactly where the rest reaches a threshold and at least 1 elsewhere, since both are whole numbers; a "
                "second one turns that into 1 and 0.",
                "t = ReLU(τ·2^l - r),   [r ≥ τ·2^l] = ReLU(1 - t),   r = v_n - Σ of the digits above",
                "ours",
                {
                    f"layers.0.mlp.{2 * turn}.weight": "minus the code, plus the digits that are known",
                    f"layers.0.mlp.{2 * turn}.bias": "the thresholds, and the constant M",
                    f"layers.0.mlp.{2 * turn + 1}.weight": "1 - t into the blocks of the digits",
                },
                (
                    *(steps.Combined(f"x_(n-{j})", tuple(found[j]), point) for j in sorted(found, reverse=True)),
                    *rest,
                ),
                "window",
            )
        )
    return tuple(made)


def last_point(order: int, heads: int, group: int) -> str:
    """Where layer two reads the stream."""
    rounds = groups(order, heads, group)
    return f"mlp 1.{2 * len(rounds)}" if rounds else "attention 1"


def proof(request: Request, heads: int = 1, group: int = 2) -> tuple[Step, ...]:
    """Write the number, read its digits, compare them."""
    k = request.order
    return (
        *_codes(k, heads, group),
        agreement_step(last_point(k, heads, group), "`full`, which is 1 with a full window"),
        steps.count("Definition 2"),
    )


def proof_bayes(request: Request, beta: float = 1.0, heads: int = 1, group: int = 2) -> tuple[Step, ...]:
    """The same with a sink."""
    k = request.order
    return (*_codes(k, heads, group), sink_step(last_point(k, heads, group)), steps.smoothed_count())


def _codes(order: int, heads: int, group: int) -> tuple[Step, ...]:
    if heads == order:
        return (steps.copies(order, "back", "ours; this is `k-head`", HEADS),)
    return (code_step(order, heads), *reading_steps(order, heads, group))


_OPTIONS = (
    Option(
        "heads",
        1,
        "heads of layer one, each with its share of the offsets",
        least=1,
        usual="each further head carries as many offsets again",
        relieves=True,
    ),
    # Depth is 2⌈m/b⌉ and the MLP has (2^b - 1)/b times the weights of b = 1: b = 2 makes their product least.
    Option(
        "group", 2, "digits that the MLP reads at once: less depth, more width", least=1, most=6, usual="2 is usual"
    ),
)

UNROLLED = Construction(
    name="unrolled",
    title="one head, the MLP reads its code digit by digit",
    source="ours",
    advice="Take it for high orders: one head carries order 22 in float32 and 51 in float64, H heads H times that.",
    exactness="exact",
    heads="1, 1",
    dimension="(⌊3k/2⌋ + 3)S + 2",
    mlp=("2⌈k/2⌉", "3S + 1"),
    parameters="d(2kS + 6S + 6 + 2(⌊3k/2⌋S + 1) + ⌈k/2⌉) + ⌊3k/2⌋S + 1 + T(kS + 2)",
    margin="1",
    build=unrolled,
    analyse=analyse,
    steps=proof,
    options=_OPTIONS,
    last_order=64,
    variants=({"heads": 2}, {"heads": 4}),
    instead=("k-head",),
    cases=(
        Case("float32", (2,), range(1, 23, 7), 1e-6, sequences=4),
        Case("float32", (4, 16), range(22, 23), 1e-6, sequences=4),
        Case("float64", (4,), range(51, 52), 1e-9, sequences=4),
        Case("float16", (2,), range(9, 10), 2**-9, sequences=4),
        Case("bfloat16", (2,), range(6, 7), 2**-6, sequences=4),
        Case("float32", (2,), range(44, 45), 1e-6, sequences=4, options={"heads": 2, "group": 3}),
        Case("bfloat16", (2,), range(24, 25), 2**-6, sequences=4, options={"heads": 4}),
    ),
)

UNROLLED_BAYES = Construction(
    name="unrolled-bayes",
    title="unrolled with a beginning token as sink: add-β smoothing",
    source="ours",
    advice="Take it for the Bayes predictor with one head, up to the same orders.",
    exactness="exact",
    heads="1, 1",
    dimension="(⌊3k/2⌋ + 3)S + 1",
    mlp=("2⌈k/2⌉", "3S"),
    parameters="d(2kS + 6S + 7 + 2⌊3k/2⌋S + ⌈k/2⌉) + ⌊3k/2⌋S + T(kS + 2)",
    margin="1",
    build=unrolled_bayes,
    analyse=analyse_bayes,
    steps=proof_bayes,
    options=(BETA, *_OPTIONS),
    last_order=64,
    variants=({"heads": 2}, {"heads": 4}),
    instead=("k-head-bayes",),
    cases=(
        Case("float32", (4,), range(1, 23, 21), 1e-6, sequences=4),
        Case("float64", (2,), range(51, 52), 1e-9, sequences=4),
    ),
)
