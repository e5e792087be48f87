"""Recorded attention: `.npz` files with `attention` and `tokens`."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from anyorder.errors import require
from anyorder.io.archives import read_npz
from anyorder.probing import controls
from anyorder.probing.measurement import as_pass, read_heads
from anyorder.probing.result import Probed
from anyorder.probing.spectrum import check


def probe_recorded(path: str | Path, *, max_length: int = 5, layers: tuple[int, ...] | None = None) -> Probed:
    """Probe attention (sequences, layers, heads, T, T) on tokens (sequences, T) from a `.npz` file.

    The file may also have `queries` (sequences, T), True at the query positions (by default all from
    `max_length` on), and `probabilities` (sequences, T, m) of tokens 0 … m - 1, to compare predictions.
    """
    named = ("attention", "tokens", "queries", "probabilities")
    arrays, _ = read_npz(path, "a .npz file with attention and tokens, of fewer sequences or layers", names=named)
    for name in ("attention", "tokens"):
        held = ", ".join(arrays) or "no arrays"
        require(name in arrays, f"{path} has {held} and no {name}; it needs attention and tokens")
    attention, tokens = arrays["attention"], arrays["tokens"]
    require(
        attention.ndim == 5,
        f"attention has shape {attention.shape}, must be (sequences, layers, heads, T, T)",
    )
    check(attention, tokens)
    least, most = int(tokens.min()), int(tokens.max())
    require(least >= 0 and most < 2**31, f"tokens are {least} to {most}, must be 0 to {2**31 - 1}; pass token ids")
    again = np.array([len(np.unique(row)) < len(row) for row in tokens], bool)
    require(
        bool(again.any()),
        f"no repeated tokens: every sequence of {path} has {tokens.shape[1]} different ones, and an order needs "
        "matches; record sequences with repeated tokens",
    )
    require(len(tokens) >= 4, f"{path} has {len(tokens)} sequences, must be at least 4: two for each half")
    length, numbers = tokens.shape[1], list(range(attention.shape[1]) if layers is None else layers)
    for layer in numbers:
        require(0 <= layer < attention.shape[1], f"layer is {layer}, {path} has 0 to {attention.shape[1] - 1}")
    require(length > max_length + 1, f"the sequences have {length} tokens, max length is {max_length}; lower it")
    queries = arrays.get("queries", np.broadcast_to(np.arange(length) >= max_length, tokens.shape)).astype(bool)
    require(queries.shape == tokens.shape, f"queries have shape {queries.shape}, must be {tokens.shape} as tokens")
    predicted = arrays.get("probabilities")
    require(
        predicted is None or (predicted.ndim == 3 and predicted.shape[:2] == tokens.shape),
        f"probabilities have shape {None if predicted is None else predicted.shape}, must be (sequences, T, m)",
    )
    passes = []
    for place, row in enumerate(tokens):
        maps = list(attention[place, numbers])
        known = None if predicted is None else (row, predicted[place])
        passes.append(as_pass(maps, row, queries[place], max_length, place, known))
    places = [(layer, head) for layer in numbers for head in range(attention.shape[2])]
    settings = {
        "sequences": len(tokens),
        "length": length,
        "symbols": len(np.unique(tokens)),
        "max_length": max_length,
        "layers": numbers,
        "source": "recorded attention",
    }
    repeating = zip(attention[again], tokens[again], strict=True)
    matching = np.mean([controls.prefix_matching(*pair) for pair in repeating], axis=0)
    return read_heads(Path(path).name, places, passes, max_length, matching[numbers].ravel(), settings)
