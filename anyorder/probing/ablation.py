"""Ablation: the loss on repeated tokens without some heads, and without random heads of the same layers."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence

import numpy as np
from jaxtyping import Int

from anyorder.errors import require
from anyorder.io.gates import gated
from anyorder.probing.protocol import Model, Place, begun

#: Most heads ablated at once, random draws of as many heads, and sequences over which the loss is averaged.
HEADS, DRAWS, SEQUENCES = 10, 3, 4


@dataclasses.dataclass(frozen=True)
class Ablation:
    """Mean loss in nats on the second copy of repeated blocks: intact, without `heads`, without random heads.

    `random` has one loss for each draw of as many other heads from the same layers; it is empty if there are too few.
    """

    heads: tuple[Place, ...]
    whole: float
    without: float
    random: tuple[float, ...]


def repeats(
    model: Model, length: int, seed: int, ids: Int[np.ndarray, "number"] | None = None
) -> Int[np.ndarray, "count rows"]:
    """Random blocks, each repeated once; its tokens are distinct if the vocabulary, or `ids`, is large enough."""
    generator, half, ids = np.random.default_rng(seed), length // 2, model.ids if ids is None else ids
    blocks = [generator.choice(ids, half, replace=len(ids) < half) for _ in range(SEQUENCES)]
    return np.stack([begun(model, np.tile(block, 2)) for block in blocks])


@gated
def ablation(
    model: Model,
    heads: Sequence[Place],
    *,
    length: int = 192,
    seed: int = 0,
    ids: Int[np.ndarray, "number"] | None = None,
) -> Ablation:
    """Ablate these heads, at most ten, and as many random ones of the same layers.

    >>> from anyorder.constructions import construct
    >>> from anyorder.probing.protocol import OwnModel
    >>> own = OwnModel(construct("k-head-bayes", order=2, alphabet_size=4, length=32), "k-head-bayes")
    >>> found = ablation(own, [(1, 0)], length=32)
    >>> found.without > found.whole
    True
    """
    heads = tuple(heads[:HEADS])
    sequences, generator = repeats(model, length, seed, ids), np.random.default_rng(seed)
    layers = {layer for layer, _ in heads}
    others = [(layer, head) for layer in sorted(layers) for head in range(model.heads[layer])]
    others = [head for head in others if head not in heads]
    draws = [generator.permutation(len(others))[: len(heads)] for _ in range(DRAWS * (len(others) >= len(heads) > 0))]
    return Ablation(
        heads=heads,
        whole=_loss(model, sequences, ()),
        without=_loss(model, sequences, heads),
        random=tuple(_loss(model, sequences, [others[place] for place in draw]) for draw in draws),
    )


def _loss(model: Model, sequences: Int[np.ndarray, "count rows"], off: Sequence[Place]) -> float:
    """Mean loss on the second copies, without their first token: it cannot be predicted."""
    length = sequences.shape[1]
    second = np.arange(length - length // 2, length - 1)  # a start token makes the length odd
    losses = []
    for tokens in sequences:
        logs = model.run(tokens, off=off).log_probabilities
        require(logs is not None, f"{model.name} returns no predictions, so there is no loss; probe without ablation")
        assert logs is not None
        losses.append(-np.maximum(logs[second, tokens[second + 1]], -30.0).mean())
    return float(np.mean(losses))
