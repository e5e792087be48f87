"""Inference with `dyadic` (order 4, S = 4, d = 27, float32): growth with T, against NumPy and `unrolled`, and memory.

The baseline is plain dense attention in NumPy on the same weights, written directly: all T × T scores at once, a
mask, a softmax, two matrix products.
"""

from __future__ import annotations

import resource
import sys

import jax
import numpy as np

from anyorder.constructions import construct
from anyorder.models import Head, Transformer
from benchmarks.measure import Row, seconds, show

LENGTHS = (256, 1024, 2048, 4096, 16384)


def main() -> None:
    model = construct("dyadic", order=4, alphabet_size=4, length=max(LENGTHS), dtype="float32")
    tokens = np.random.default_rng(0).integers(0, 4, max(LENGTHS))
    times = {}
    for length in LENGTHS:
        part = tokens[:length]
        times[length] = seconds(lambda part=part: jax.block_until_ready(model(part)), repeats=3 if length > 4096 else 9)
    rows = [Row(f"T = {length}", 1e6 * times[length] / length, "µs per token") for length in LENGTHS]
    growth = (times[16384] / 16384) / (times[1024] / 1024)
    products = products_alone(max(LENGTHS), model.dimension)
    rows.append(Row("two T × T × d products alone, T = 16,384", products, "s"))
    rows.append(Row("ours over the two products, T = 16,384", times[max(LENGTHS)] / products, "×"))
    rows.append(Row("time per token, T = 16,384 over T = 1,024", growth, "×", "at most 16: linear in T"))
    part = tokens[:2048]
    dense = seconds(lambda: dense_numpy(model, part), repeats=5)
    # The same model, except that NumPy's products give equal keys scores that differ in their last bit.
    assert np.abs(dense_numpy(model, part) - np.asarray(model(part))).mean() < 1e-4
    rows.append(Row("dense attention in NumPy over ours, T = 2,048", dense / times[2048], "×", "at least 3"))
    rows.append(unrolled_over_dyadic(part))
    unit = 1 if sys.platform == "darwin" else 1024
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit / 1e9
    rows.append(Row("peak memory of this process", peak, "GB", "below 2"))
    show("Inference with dyadic, order 4, S = 4, d = 27, float32", rows)


def products_alone(length: int, d: int) -> float:
    """Seconds of the scores and of the mixture of values of one head: a block of queries at a time, all keys."""
    block, keys = np.ones((128, d), np.float32), np.ones((length, d), np.float32)

    def both() -> None:
        for _ in range(length // len(block)):
            (block @ keys.T) @ keys

    return seconds(both, repeats=3)


def unrolled_over_dyadic(tokens: np.ndarray) -> Row:
    """The cost of reading the digits: one head at twice the order."""
    common = {"alphabet_size": 4, "length": len(tokens), "dtype": "float32"}
    high, low = construct("unrolled", order=20, **common), construct("dyadic", order=10, **common)
    slow, fast = (seconds(lambda model=model: jax.block_until_ready(model(tokens)), repeats=9) for model in (high, low))
    return Row("unrolled, order 20, over dyadic, order 10, T = 2,048", slow / fast, "×", "at most 2")


def dense_numpy(model: Transformer, tokens: np.ndarray) -> np.ndarray:
    x = np.asarray(model.embedding)[tokens]
    for layer in model.layers:
        x = x + sum(dense_head(head, x) for head in layer.heads)
        points = [x]
        for mlp in layer.mlp:
            z = np.maximum(points[-1] @ np.asarray(mlp.weight).T + np.asarray(mlp.bias), 0)
            length = np.linalg.norm(z, axis=1, keepdims=True)
            points.append(points[mlp.skip] + z / np.where(length > 0, length, 1))
        x = points[-1]
    return np.maximum(x @ np.asarray(model.output).T, 0)


def dense_head(head: Head, x: np.ndarray) -> np.ndarray:
    n = len(x)
    queries, keys, values = (x @ np.asarray(w).T for w in (head.query, head.key, head.value))
    scores = queries @ keys.T
    offsets = np.arange(n)[:, None] - np.arange(n)[None, :]
    if head.key_positions is not None:
        table = np.asarray(head.key_positions)
        by_offset = queries @ table.T
        near = (offsets >= 0) & (offsets < len(table))
        scores = scores + np.where(near, np.take_along_axis(by_offset, np.clip(offsets, 0, len(table) - 1), 1), 0)
    scores = np.where(offsets >= 0, scores, -np.inf)
    weights = np.exp(scores - scores.max(axis=1, keepdims=True))
    weights = weights / weights.sum(axis=1, keepdims=True)
    mixed = weights @ values
    if head.value_positions is not None:
        for offset, position in enumerate(np.asarray(head.value_positions)):
            mixed[offset:] += np.diagonal(weights, -offset)[:, None] * position
    return mixed


if __name__ == "__main__":
    main()
