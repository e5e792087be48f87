"""The table of cases: the largest allowed error of each construction, and the oracle that measures it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from anyorder.constructions import CONSTRUCTIONS
from tests import oracles_constructions as oracles

ORACLES = {"kgram": oracles.kgram, "bayes": oracles.add_beta, "biased": oracles.biased}


class Case(NamedTuple):
    """The largest error at some orders in a dtype."""

    dtype: str
    alphabet_sizes: tuple[int, ...]
    orders: range
    error: float
    length: int = 1024
    sequences: int = 8
    options: Mapping[str, int] = {}


TABLE = {
    "attention-only": (
        Case("float64", (2, 4), range(1, 9), 1e-6),
        Case("float32", (2, 4), range(1, 7), 1e-5),
    ),
    "bayes": (Case("float64", (2, 4), range(1, 11), 1e-6),),
    "bigram": (Case("float32", (2, 4, 16), range(1, 2), 1e-5),),
    "convolution": (
        Case("float32", (2, 4), range(1, 17, 5), 1e-5, sequences=4),
        Case("float64", (3,), range(40, 41), 1e-9, sequences=4),
        Case("bfloat16", (4,), range(3, 4), 2**-6, length=256, sequences=4),
        Case("float16", (4,), range(3, 4), 2**-9, length=256, sequences=4),
    ),
    "disentangled": (Case("float32", (2, 4), range(1, 4), 1e-5, length=64),),
    "dyadic": (
        Case("float32", (2, 4, 16), range(1, 11), 1e-5),
        Case("float64", (2, 4), range(1, 21), 1e-6),
        Case("float16", (4,), range(1, 4), 2**-9, length=256),
        Case("bfloat16", (4,), range(1, 3), 2**-6, length=256),
    ),
    "k-head": (
        Case("float32", (2,), range(1, 17, 3), 1e-5, sequences=4),
        Case("float32", (4,), range(1, 17, 5), 1e-5, sequences=4),
        Case("bfloat16", (4,), range(3, 4), 2**-6, length=256, sequences=4),
        Case("float16", (4,), range(3, 4), 2**-9, length=256, sequences=4),
    ),
    "k-head-bayes": (
        Case("float32", (4,), range(1, 17, 5), 1e-5, sequences=4),
        Case("bfloat16", (4,), range(3, 4), 2**-5, length=256, sequences=4),
    ),
    "one-layer": (
        Case("float32", (2,), range(1, 8, 3), 1e-6, length=64, sequences=4),
        Case("float64", (3,), range(2, 3), 1e-12, length=48, sequences=4),
        Case("float16", (2,), range(3, 4), 2**-9, length=64, sequences=4),
        Case("bfloat16", (2,), range(3, 4), 2**-6, length=64, sequences=4),
        Case("float32", (2,), range(3, 4), 1e-6, length=66, sequences=4, options={"heads": 3}),
        Case("float64", (4,), range(2, 3), 1e-12, length=102, sequences=4, options={"heads": 2}),
        Case("bfloat16", (3,), range(2, 3), 2**-6, length=48, sequences=4, options={"heads": 8}),
    ),
    "recurrent": (
        Case("float32", (2,), range(1, 15, 6), 1e-6, sequences=4),
        Case("float64", (4,), range(1, 8, 3), 1e-12, sequences=4),
        Case("float16", (3,), range(3, 4), 2**-10, sequences=4),
        Case("bfloat16", (3,), range(3, 4), 2**-7, length=256, sequences=4),
    ),
    "recurrent-bayes": (
        Case("float32", (2, 4), range(1, 6, 2), 1e-6, sequences=4),
        Case("float64", (3,), range(2, 3), 1e-12, sequences=4),
        Case("bfloat16", (3,), range(3, 4), 2**-6, length=256, sequences=4),
    ),
    "three-layer": (Case("float64", (2, 4), range(1, 6), 1e-5),),
    "two-head": (Case("float64", (2, 4), range(1, 6), 1e-5),),
    "two-head-qk": (Case("float64", (2, 4), range(1, 5), 1e-5),),
    "two-layer": (Case("float64", (2, 4), range(1, 6), 1e-5),),
    "two-layer-qk": (Case("float64", (2, 4), range(1, 5), 1e-5),),
    "unrolled": (
        Case("float32", (2,), range(1, 23, 7), 1e-6, sequences=4),
        Case("float32", (4, 16), range(22, 23), 1e-6, sequences=4),
        Case("float64", (4,), range(51, 52), 1e-9, sequences=4),
        Case("float16", (2,), range(9, 10), 2**-9, sequences=4),
        Case("bfloat16", (2,), range(6, 7), 2**-6, sequences=4),
        Case("float32", (2,), range(44, 45), 1e-6, sequences=4, options={"heads": 2, "group": 3}),
        Case("bfloat16", (2,), range(24, 25), 2**-6, sequences=4, options={"heads": 4}),
    ),
    "unrolled-bayes": (
        Case("float32", (4,), range(1, 23, 21), 1e-6, sequences=4),
        Case("float64", (2,), range(51, 52), 1e-9, sequences=4),
    ),
}
CASES = [(CONSTRUCTIONS[name], case) for name, cases in TABLE.items() for case in cases]
RANDOM = np.random.default_rng(0).integers(0, 2, (2, 200))
TOKENS = np.random.default_rng(3).integers(0, 3, 40)


def worst_error(model, oracle, order, batch):
    """Largest error of a probability over all positions where the oracle is defined, and their number."""
    outputs = np.asarray(jax.vmap(model)(jnp.asarray(batch, jnp.int32)), np.float64)
    worst, positions = 0.0, 0
    for output, tokens in zip(outputs, batch, strict=True):
        expected = oracle(tokens.tolist(), order, model.alphabet_size)
        if model.certificate is not None and model.certificate.construction == "two-layer-qk":
            expected[order - 1] = np.nan  # its MLP makes the query from a full window before position n
        defined = ~np.isnan(expected[:, 0])
        positions += defined.sum()
        worst = max(worst, np.abs(output - expected)[defined].max(initial=0.0))
    return worst, positions
