"""Adapter for functions that return attention: nnsight, nanoGPT, a model behind a server."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from jaxtyping import Int
from numpy.typing import ArrayLike
from scipy.special import log_softmax

from anyorder.errors import require
from anyorder.probing.protocol import Look, Place

Attend = Callable[[Int[np.ndarray, "rows"]], Any]
"""Function from token ids to attention by layer, each (heads, rows, rows), or to a pair: attention and logits."""


class CallableModel:
    """A model given as a function from token ids to attention by layer, with or without logits, as arrays or tensors.

    vocabulary: number of tokens; None: taken from the logits.

    >>> def attend(tokens):
    ...     uniform = np.tri(len(tokens)) / np.arange(1, len(tokens) + 1)[:, None]
    ...     return [uniform[None]], np.zeros((len(tokens), 8))
    >>> from anyorder.probing import Settings, probe
    >>> result = probe(CallableModel(attend), Settings(sequences=8))
    >>> result.heads[0].found.order is None
    True
    """

    def __init__(
        self,
        attend: Attend,
        *,
        vocabulary: int | None = None,
        start: int | None = None,
        ids: ArrayLike | None = None,
        name: str = "callable",
    ) -> None:
        self._attend, self.name, self.start = attend, name, start
        require(ids is None or np.size(ids) > 0, "ids is empty; pass the token ids of test sequences")
        first = 0 if ids is None else int(np.ravel(ids)[0])
        attention, logits = self._call(np.asarray([first if start is None else start, first, first]))
        self.heads = tuple(len(layer) for layer in attention)
        if vocabulary is None and ids is None:
            require(
                logits is not None,
                "the function returns no logits: its vocabulary is unknown; pass CallableModel(function, vocabulary=…)",
            )
            assert logits is not None
            vocabulary = logits.shape[1]
        self.ids = np.asarray([token for token in range(vocabulary or 0) if token != start] if ids is None else ids)
        self.about: dict[str, object] = {}

    def run(self, tokens: Int[np.ndarray, "rows"], *, layers: Sequence[int] = (), off: Sequence[Place] = ()) -> Look:
        """Call the function on token ids."""
        require(not off, "heads of a function cannot be switched off; probe without ablation")
        attention, logits = self._call(tokens)
        logs = None if logits is None else log_softmax(logits, axis=-1)
        return Look(logs, {layer: attention[layer] for layer in layers})

    def _call(self, tokens: Int[np.ndarray, "rows"]) -> tuple[list[np.ndarray], np.ndarray | None]:
        given, rows = self._attend(tokens), len(tokens)
        pair = isinstance(given, tuple) and len(given) == 2 and (given[1] is None or len(np.shape(given[1])) == 2)
        attention, logits = given if pair else (given, None)
        require(
            np.ndim(attention) > 0 if not isinstance(attention, list | tuple) else len(attention) > 0,
            f"the function returns a {type(given).__name__}, must return attention by layer, or attention and logits",
        )
        maps = [_array(layer) for layer in attention]
        for layer in maps:
            require(
                layer.ndim == 3 and layer.shape[1:] == (rows, rows),
                f"attention of a layer has shape {layer.shape}, must be (heads, {rows}, {rows}) for {rows} tokens",
            )
        return maps, None if logits is None else _array(logits)


def _array(values: Any) -> np.ndarray:
    """NumPy copy of an array, or of a tensor on any device, with or without gradient."""
    return np.asarray(values.detach().cpu().double() if hasattr(values, "detach") else values, np.float64)
