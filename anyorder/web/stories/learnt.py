"""What can be told of a model that nobody wrote down."""

from __future__ import annotations

from anyorder.web.stories.sentences import counts_here, matches_here, window_here
from anyorder.web.story import Step, attention, prediction


def unknown(order: int, heads: list[int]) -> tuple[Step, ...]:
    """Where each layer looks, and what comes out."""
    steps = []
    for layer, count in enumerate(heads):
        last = layer == len(heads) - 1
        near = None if last else (1, order)
        shown = tuple(attention(f"attention of head {j + 1}", layer, j, offsets=near) for j in range(min(count, 4)))
        weights = {f"layers.{layer}.heads.0.query": "W_Q", f"layers.{layer}.heads.0.key": "W_K"}
        text = "Where this layer looks from position n. "
        text += (
            "Marked are the tokens that followed the same window before: an induction head of order k looks there."
            if last
            else "A code of the window would look at the k tokens before n, older ones with other weights."
        )
        steps.append(
            Step(
                f"Layer {layer + 1}",
                text,
                "x_n + Σ_i att(n, i) (W_V x_i + p^V_{n-i}),   att(n, i) ∝ exp <W_K x_i + p^K_{n-i}, W_Q x_n>",
                "Definition 3; the weights are learnt",
                weights,
                shown,
                matches_here if last else window_here,
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
            counts_here,
        )
    )
    return tuple(steps)
