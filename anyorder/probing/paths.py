"""Path patching: find the earlier head that carries the token at an offset to the keys of a head.

In a sequence with a planted match, the token at one offset before the matching key is replaced; the head then gives
the key less attention. Next, the outputs of the heads of one earlier layer are patched from this run into an otherwise
unchanged run. The heads of the layer that leaves the least attention to the match are then patched one by one.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
from jaxtyping import Float, Int

from anyorder.errors import require
from anyorder.io.gates import gated
from anyorder.probing.protocol import Model, Place, begun
from anyorder.probing.spectrum import jackknife
from anyorder.probing.stimuli import sequences, shortest

#: Most target heads, and sequences over which remaining shares are averaged.
HEADS, SEQUENCES = 8, 6
#: An offset is traced if replacing its token removes at least this share of the attention to the match.
LEAST_LOSS = 0.25
#: A head or layer does not carry the token if more than this share of the match remains when it is patched.
MOST = 0.75

Cases = Float[np.ndarray, "cases heads"]


@dataclasses.dataclass(frozen=True)
class Path:
    """Head `head` of `layer` gets the token at `offset` from head `from_head` of `from_layer`.

    `loss` is the share of the attention to a match that is lost if the token is replaced. `layer_remains` is the share
    of this that remains if only the heads of `from_layer` see the replaced token, `head_remains` if only
    `from_head` does, with standard errors: 1 is irrelevant, 0 carries all of it. `by_layer` has the remaining share for
    every earlier layer.
    """

    layer: int
    head: int
    offset: int
    loss: float
    from_layer: int
    layer_remains: float
    layer_error: float
    from_head: int
    head_remains: float
    head_error: float
    by_layer: tuple[float, ...]

    @property
    def in_words(self) -> str:
        """One sentence; it names no source if most of the match remains when that layer or head is patched."""
        source, which = f"layer {self.from_layer} head {self.from_head}", ""
        if self.head_remains > MOST:
            source, which = (
                f"several heads of layer {self.from_layer}",
                f", of which head {self.from_head} matters most",
            )
        if self.layer_remains > MOST:
            source, which = "no single layer", f"; layer {self.from_layer} head {self.from_head} matters most"
        return (
            f"layer {self.layer} head {self.head} gets the token at offset {self.offset} from {source}{which}: "
            f"{self.head_remains:.2f} ± {self.head_error:.2f} of the match remains without the head, "
            f"{self.layer_remains:.2f} ± {self.layer_error:.2f} without the layer"
        )


class _Case:
    """One sequence: attention of the target heads to its match, with original and with replaced tokens."""

    def __init__(self, model: Model, tokens: np.ndarray, query: int, key: int, heads: Sequence[Place]) -> None:
        self.model, self.tokens, self.query, self.key, self.heads = model, tokens, query, key, heads
        self.whole = self.attention(tokens)

    def attention(self, tokens: np.ndarray, **how: Any) -> Float[np.ndarray, "heads"]:
        maps = self.model.run(tokens, layers=sorted({layer for layer, _ in self.heads}), **how).attention
        return np.array([maps[layer][head, self.query, self.key] for layer, head in self.heads], np.float64)

    def replace(self, offset: int, other: int) -> tuple[Float[np.ndarray, "heads"], Mapping[Place, Any]]:
        """Attention of the target heads, and outputs of all heads, with another token at an offset before the key."""
        tokens = self.tokens.copy()
        tokens[self.key - offset] = other
        return self.attention(tokens), self.model.written(tokens)  # type: ignore[attr-defined]


@gated
def paths(
    model: Model,
    heads: Sequence[Place],
    *,
    max_length: int,
    length: int = 192,
    symbols: int = 4,
    ids: Int[np.ndarray, "count"] | None = None,
    seed: int = 0,
    watch: Callable[[int, int], None] = lambda done, total: None,
) -> tuple[Path, ...]:
    """Trace the tokens at offsets 1 … K to each of these heads, at most eight.

    >>> from anyorder.constructions import construct
    >>> from anyorder.probing.protocol import OwnModel
    >>> own = OwnModel(construct("k-head", order=2, alphabet_size=3, length=32), "k-head")
    >>> [(path.offset, path.from_layer, path.from_head) for path in paths(own, [(1, 0)], max_length=3, length=32)]
    [(1, 0, 0), (2, 0, 1)]
    """
    check(model)
    heads = [place for place in heads[:HEADS] if place[0] > 0]
    if not heads:
        return ()
    ids = model.ids if ids is None else ids
    symbols = min(symbols, len(ids))
    longest = max(number for number in range(2, max_length + 1) if number == 2 or shortest(number) <= length)
    drawn = sequences(SEQUENCES, length=shortest(longest), symbols=symbols, max_length=longest, seed=seed)
    generator = np.random.default_rng([seed, 2])
    cases, others = [], []
    for row, pairs in zip(drawn.tokens, drawn.pairs, strict=True):  # type: ignore[arg-type]
        query = len(row) - 1
        same = [key for key in np.flatnonzero(pairs[query]) if (row[key - longest : key] == row[-longest:]).all()]
        names = generator.choice(ids, symbols, replace=False)
        tokens = begun(model, names[row])
        begins = len(tokens) - len(row)
        cases.append(_Case(model, tokens, query + begins, int(same[0]) + begins, heads))
        # Replacement symbols for the offsets 1 … K of the key.
        others.append(
            names[(row[same[0] - np.arange(1, longest + 1)] + generator.integers(1, symbols, longest)) % symbols]
        )
    whole = np.array([case.whole for case in cases])
    found, top = [], max(layer for layer, _ in heads)
    for offset in range(1, longest + 1):
        replaced = [case.replace(offset, int(other[offset - 1])) for case, other in zip(cases, others, strict=True)]
        less = np.array([attention for attention, _ in replaced])
        loss = 1 - less.sum(axis=0) / np.maximum(whole.sum(axis=0), 1e-30)
        followed = [place for place, share in enumerate(loss) if share >= LEAST_LOSS]
        watch(offset * top - top, longest * top)
        if not followed:
            continue

        def remains(places: Sequence[Place]) -> Cases:
            """Attention to the match if only these heads see the replaced token."""
            return np.array(
                [
                    case.attention(case.tokens, write={place: outputs[place] for place in places})
                    for case, (_, outputs) in zip(cases, replaced, strict=True)  # noqa: B023
                ]
            )

        by_layer = []
        for layer in range(top):
            by_layer.append(remains([(layer, head) for head in range(model.heads[layer])]))
            watch(offset * top - top + layer + 1, longest * top)
        by_head: dict[Place, np.ndarray] = {}
        for place in followed:
            shares = [_share(values, less, whole, place) for values in by_layer[: heads[place][0]]]
            layer = int(np.argmin([share for share, _ in shares]))
            for head in range(model.heads[layer]):
                if (layer, head) not in by_head:
                    by_head[layer, head] = remains([(layer, head)])
            single = [_share(by_head[layer, head], less, whole, place) for head in range(model.heads[layer])]
            head = int(np.argmin([share for share, _ in single]))
            given = tuple(share for share, _ in shares)
            found.append(
                Path(*heads[place], offset, float(loss[place]), layer, *shares[layer], head, *single[head], given)
            )
    watch(longest * top, longest * top)
    return tuple(sorted(found, key=lambda path: (heads.index((path.layer, path.head)), path.offset)))


def check(model: Model) -> None:
    """Reject a model that does not support replacing the outputs of heads."""
    require(hasattr(model, "written"), f"the head outputs of {model.name} cannot be replaced; probe without paths")


def _share(patched: Cases, less: Cases, whole: Cases, place: int) -> tuple[float, float]:
    """Remaining share of one head's attention to the match, over all sequences, with its standard error."""
    above, below = (patched - less)[:, place], (whole - less)[:, place]
    left_out = (above.sum() - above) / (below.sum() - below)
    return round(float(above.sum() / below.sum()), 6), float(jackknife(left_out))
