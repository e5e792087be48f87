"""The proof of every construction as steps; each names its equation and the weights that do it.

Offsets count back from n: the key at position n sums the k tokens *before* n, the query the k tokens *up to* n, so
that a key matches where what stands there is what may come next.
"""

from __future__ import annotations

from collections.abc import Callable

from anyorder.web.stories import heads, ours, paper
from anyorder.web.stories.learnt import unknown
from anyorder.web.story import Step

_STORIES: dict[str, Callable[[int], tuple[Step, ...]]] = {
    "two-layer": paper.two_layer,
    "two-layer-qk": paper.two_layer_qk,
    "two-head": paper.two_head,
    "two-head-qk": paper.two_head_qk,
    "three-layer": paper.three_layer,
    "k-head": heads.k_head,
    "disentangled": heads.disentangled,
    "bigram": heads.bigram,
    "associative": heads.associative,
    "dyadic": ours.dyadic,
    "attention-only": ours.attention_only,
    "bayes": ours.bayes,
    "k-head-bayes": heads.k_head_bayes,
}


def story_of(construction: str | None, order: int, heads_by_layer: list[int]) -> tuple[Step, ...]:
    """The steps for a construction, or for a model that nobody wrote down.

    >>> [step.title for step in story_of("bigram", 1, [1, 1])]
    ['Copy the previous token', 'Find the same token before', 'Count what came next']
    """
    if construction is None:
        return unknown(order, heads_by_layer)
    return _STORIES[construction](order)
