"""The proof of `unrolled` as data: write the window as a number, read its digits, compare them.

`k-head`, the case of one offset per head (`heads` is None), copies the digits instead.
"""

from __future__ import annotations

from anyorder.constructions import steps
from anyorder.constructions.certificate import Request
from anyorder.constructions.digits import groups, read_so_far, shares
from anyorder.constructions.steps import Show, Step

#: The reason why a head that compares blocks needs no bits, after its name.
COMPARES = (
    " compares block by block: the score is kappa times the number of tokens that agree. Each token that differs "
    "lowers it by one kappa, at every order."
)
AGREE = f"Layer 2{COMPARES}"


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
        title="Find earlier occurrences of the window, with a sink",
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
        "symbol, and its binary digits give the offsets of the symbol." + steps.ANCHORED,
        "att(n, n-i) = 2^(i-1-m) for i = 1 … m,   v_n = Σ_{i=1..m} 2^(i-1) e_{x_{n-i}},   m = ⌈k/H⌉",
        "ours, after App. B layer 1: base 2, no offset outside the window has any weight",
        {
            "layers.0.heads.0.key_positions": "p^K_i = (i - m) log 2 in the window, elsewhere scores whose exp is 0",
            "layers.0.heads.0.value": "2^m e_x",
            "layers.0.heads.0.projection": "writes the number to `code_1`; head h to `code_h`",
        },
        tuple(shows),
        "window",
    )


def reading_steps(order: int, heads: int, group: int) -> tuple[Step, ...]:
    """The MLP: digits appear one group after the other."""
    made, rounds = [], groups(order, heads, group)
    for turn, together in enumerate(rounds):
        found = {offset: blocks for one in together for offset, blocks in one.digits()}
        point = f"mlp 1.{2 * turn + 2}"
        rest: list[Show] = []
        for one in together:
            name = f"head {one.head + 1}, " if heads > 1 else ""
            taken = [(block, -size) for block, size in read_so_far(rounds[: turn + 1], one.head)]
            left = ((f"code_{one.head + 1}", 1.0), ("token", -1.0), *taken)
            rest.append(steps.Combined(f"{name}remainder of v_n", left, point))
        offsets = ", ".join(map(str, sorted(found)))
        made.append(
            Step(
                f"Read the digit{'s' * (len(found) > 1)} at offset{'s' * (len(found) > 1)} {offsets}",
                "Digits already read are subtracted from the number first. One ReLU is 0 if the remainder reaches a "
                "threshold and at least 1 otherwise, since both are whole numbers; a second ReLU turns this into 1 "
                "and 0.",
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


def proof(request: Request, heads: int | None = 1, group: int = 2) -> tuple[Step, ...]:
    """The proof steps: write the number, read its digits, compare them."""
    before, first = _digits(request.order, heads, group, (steps.Block("gate", "gate", "attention 1"),))
    gate = "`gate`" if before == "attention 1" else "`full`, which is 1 with a full window"
    return (*first, agreement_step(before, gate), steps.count("Definition 2"))


def proof_bayes(request: Request, beta: float = 1.0, heads: int | None = 1, group: int = 2) -> tuple[Step, ...]:
    """The proof steps with a sink."""
    before, first = _digits(request.order, heads, group)
    return (*first, sink_step(before), steps.smoothed_count())


def _digits(order: int, heads: int | None, group: int, gate: tuple[Show, ...] = ()) -> tuple[str, tuple[Step, ...]]:
    """The point at which layer two reads the stream, and the steps before it."""
    if heads is not None and heads < order:
        made = reading_steps(order, heads, group)
        return f"mlp 1.{2 * len(made)}", (code_step(order, heads), *made)
    weights = {
        "layers.0.heads.0.key_positions": "p^K of head 1: a pull at offset 1; head j has it at offset j",
        "layers.0.heads.0.projection": "writes the token to `back_1`; head j to `back_j`",
    }
    return "attention 1", (steps.copies(order, "back", "after Nichani et al., layer 1", weights, gate),)
