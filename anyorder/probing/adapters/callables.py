"""Any model through a function that gives its attention: nnsight, a nanoGPT, a model behind a server."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
from jaxtyping import Int
from numpy.typing import ArrayLike
from scipy.special import log_softmax

from anyorder.errors import require
from anyorder.probing.protocol import Look, Place

Attend = Callable[[Int[np.ndarray, "rows"]], tuple[Sequence[ArrayLike], ArrayLike]]
"""Token ids to attention, (heads, rows, rows) for each layer, and logits (rows, vocabulary)."""


class CallableModel:
    """A function from token ids to attention by layer and logits, as arrays or tensors, seen as a model.

    >>> def attend(tokens):
    ...     uniform = np.tri(len(tokens)) / np.arange(1, len(tokens) + 1)[:, None]
    ...     return [uniform[None]], np.zeros((len(tokens), 8))
    >>> from anyorder.probing import Settings, probe
    >>> result = probe(CallableModel(attend, vocabulary=8), Settings(sequences=8))
    >>> result.heads[0].found.order is None
    True
    """

    def __init__(
        self,
        attend: Attend,
        *,
        vocabulary: int,
        start: int | None = None,
        ids: ArrayLike | None = None,
        name: str = "callable",
    ) -> None:
        self._attend, self.name, self.start = attend, name, start
        self.ids = np.asarray([token for token in range(vocabulary) if token != start] if ids is None else ids)
        self.about: dict[str, object] = {}
        first = [] if start is None else [start]
        attention, _ = attend(np.asarray([*first, *self.ids[:2]]))
        self.heads = tuple(np.shape(layer)[0] for layer in attention)

    def run(self, tokens: Int[np.ndarray, "rows"], *, layers: Sequence[int] = (), off: Sequence[Place] = ()) -> Look:
        """Call the function on token ids."""
        require(not off, "heads of a function cannot be switched off; probe without ablation")
        attention, logits = self._attend(tokens)
        logs = log_softmax(np.asarray(logits, np.float64), axis=-1)
        return Look(logs, {layer: np.asarray(attention[layer], np.float64) for layer in layers})
