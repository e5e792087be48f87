"""One table of what must hold: construction, dtype, alphabet sizes, orders, length, error, estimator."""

from __future__ import annotations

from typing import NamedTuple

from tests import oracles_constructions as oracles


class Case(NamedTuple):
    construction: str
    dtype: str
    alphabet_sizes: tuple[int, ...]
    orders: range
    error: float
    length: int = 1024
    oracle: object = oracles.kgram


def orders(first, last):
    return range(first, last + 1)


CASES = [
    Case("dyadic", "float32", (2, 4, 16), orders(1, 10), 1e-5),
    Case("dyadic", "float64", (2, 4), orders(1, 16), 1e-6),
    Case("dyadic", "float64", (2, 4), orders(17, 20), 1e-6),
    Case("attention-only", "float64", (2, 4), orders(1, 8), 1e-6),
    Case("bayes", "float64", (2, 4), orders(1, 10), 1e-6, oracle=oracles.add_beta),
    Case("k-head", "float32", (2, 4), orders(1, 16), 1e-5),
    Case("k-head-bayes", "float32", (4,), orders(1, 16), 1e-5, oracle=oracles.add_beta),
    Case("disentangled", "float32", (2, 4), orders(1, 3), 1e-5, length=64),
    Case("bigram", "float32", (2, 4, 16), orders(1, 1), 1e-5),
    Case("two-layer", "float64", (2, 4), orders(1, 5), 1e-5),
    Case("two-head", "float64", (2, 4), orders(1, 5), 1e-5),
    Case("three-layer", "float64", (2, 4), orders(1, 5), 1e-5),
    Case("two-layer-qk", "float64", (2, 4), orders(1, 4), 1e-5, oracle=oracles.biased),
    Case("two-head-qk", "float64", (2, 4), orders(1, 4), 1e-5, oracle=oracles.biased),
    # beyond the list: what the narrow types can hold
    Case("attention-only", "float32", (2, 4), orders(1, 6), 1e-5),
    Case("k-head", "bfloat16", (4,), orders(3, 3), 2**-6, length=256),
    Case("k-head", "float16", (4,), orders(3, 3), 2**-9, length=256),
    Case("k-head-bayes", "bfloat16", (4,), orders(3, 3), 2**-5, length=256, oracle=oracles.add_beta),
    Case("dyadic", "float16", (4,), orders(1, 3), 2**-9, length=256),
    Case("dyadic", "bfloat16", (4,), orders(1, 2), 2**-6, length=256),
]
