"""The proofs with a head for each offset, and those of order 1."""

from __future__ import annotations

from anyorder.web.stories.sentences import counts_here, smoothed_here, window_here
from anyorder.web.stories.steps import KEY, QUERY, count, match
from anyorder.web.story import Show, Step, attention, block, prediction


def copies(order: int, prefix: str, source: str, weights: dict[str, str], gate: tuple[Show, ...]) -> Step:
    """Layer 1 of all of them: a head for each offset."""
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
        window_here,
    )


_AGREE = (
    "Layer 2 compares block by block: the score is kappa times the number of tokens that agree. One token less is "
    "one kappa less, whatever the order."
)


#: What copies the tokens in `k-head`, with and without a sink.
_HEADS = {
    "layers.0.heads.0.key_positions": "p^K of head 1: a pull at offset 1; head j has it at offset j",
    "layers.0.heads.0.projection": "writes the token to `back_1`; head j to `back_j`",
}


def k_head(order: int) -> tuple[Step, ...]:
    """Heads instead of bits."""
    copied = copies(
        order,
        "back",
        "after Nichani et al., layer 1",
        _HEADS,
        (block("gate", "gate", "attention 1"),),
    )
    return (
        copied,
        match(
            _AGREE + " A full window counts as one agreement more.",
            "score(n, i) = kappa · (#{j : x_{i-j} = x_{n-j+1}} + gate_i)",
            "after Nichani et al., layer 2: A^(2)",
            before="attention 1",
            weights={
                QUERY.format(1): "kappa times `token` and back_1 … back_(k-1)",
                KEY.format(1): "back_1 … back_k and `gate`",
            },
        ),
        count("Definition 2"),
    )


def k_head_bayes(order: int) -> tuple[Step, ...]:
    """`k-head` with a sink."""
    copied = copies(
        order,
        "back",
        "after Nichani et al., layer 1",
        _HEADS,
        (),
    )
    return (
        copied,
        match(
            _AGREE + " Here a full match scores exactly 0, and the beginning token ⊢ scores log(β S): a sink that is "
            "exact in every dtype.",
            "score(n, i) = kappa · (#agreements - k),   score(n, ⊢) = log(β S)",
            "ours",
            before="attention 1",
            weights={
                QUERY.format(1): "kappa times `token` and back_1 … back_(k-1), and 1 for `extra`",
                KEY.format(1): "back_1 … back_k; -kappa·k for a token, log(β S) for the sink",
            },
            title="Find the same window, next to a sink",
        ),
        count("ours: β = 1 is the Bayes predictor for Dirichlet(1) rows", here=smoothed_here, sink=True),
    )


def disentangled(order: int) -> tuple[Step, ...]:
    """Nichani et al., literally."""
    copied = copies(
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
        copied,
        match(
            _AGREE + " Keys below position k are masked by their one-hot position.",
            "score(n, i) = kappa · #{j : x_{i-j} = x_{n-j+1}} - kappa (k + 1) · 1[i < k]",
            "Nichani et al.: A^(2)",
            before="attention 1",
            weights={
                QUERY.format(1): "block j - 1 asks for block j; asks against positions below k",
                KEY.format(1): "the whole stream",
            },
        ),
        count("Nichani et al.; Definition 2"),
    )


def bigram(order: int) -> tuple[Step, ...]:
    """Edelman et al."""
    return (
        Step(
            "Copy the previous token",
            "One head attends to offset 1. Position 0 can only attend to itself: the gate, a value position, "
            "makes this one key negative, so that it never matches. Without the gate it counts as a match of x_0.",
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
            window_here,
        ),
        match(
            "Attend to where the previous token was the current one.",
            "score(n, i) = kappa · <e_{x_n}, e_{x_{i-1}}>",
            "Edelman et al., layer 2",
            before="attention 1",
            weights={QUERY.format(1): "kappa times `token`", KEY.format(1): "reads `previous`"},
            title="Find the same token before",
        ),
        count("Edelman et al.; Definition 2 with k = 1"),
    )


def associative(order: int) -> tuple[Step, ...]:
    """Bietti et al."""
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
            window_here,
        ),
        match(
            "The current token asks where it was the previous one. Nothing is exactly orthogonal, so that misses keep "
            "some weight: approximate by design.",
            "W_K^(2) = Σ_s e_s (W_1 e_s)^T",
            "Bietti et al., layer 2",
            before="attention 1",
            weights={QUERY.format(1): "kappa times the embeddings", KEY.format(1): "the remapped embeddings W_1 e_s"},
            title="Find the same token before",
        ),
        Step(
            "Read what came next",
            "The output memory turns the remapped token back into its symbol.",
            "W_o = Σ_s e_s (W_2 e_s)^T",
            "Bietti et al., output",
            {"layers.1.heads.0.value": "W_2", "output": "the output memory"},
            (prediction(),),
            counts_here,
        ),
    )
