"""Verification: run a construction on hard sequences and compare it with the exact estimator."""

from __future__ import annotations

import dataclasses
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Float, Int

from anyorder.constructions.parameters import count_arrays
from anyorder.constructions.registry import find, plan
from anyorder.constructions.sequences import hard_sequences
from anyorder.errors import require
from anyorder.estimators.streaming import StreamingEstimator
from anyorder.transformer import Transformer


@dataclasses.dataclass(frozen=True)
class Verification:
    """The worst error over all defined positions of all sequences, next to what was promised."""

    construction: str
    order: int
    alphabet_size: int
    length: int
    dtype: str
    layers: int
    heads: tuple[int, ...]
    dimension: int
    parameters: int
    kappa: float | None
    margin: float | None
    bits_needed: int | None
    mantissa_bits: int | None
    bound: float | None
    max_error: float
    positions_checked: int
    passed: bool


def within(error: float, bound: float | None) -> bool:
    """Whether an error keeps what was promised; a bound of 1 promises nothing, no certificate asks for nothing.

    >>> within(1e-7, 1e-6), within(0.4, 1.0), within(0.4, None)
    (True, False, True)
    """
    return bound is None or error <= bound < 1


def expected(
    model: Transformer, tokens: Int[np.ndarray, "length"], order: int, beta: float = 1.0
) -> Float[np.ndarray, "length symbols"]:
    """What a construction should give after every position, NaN where it makes no promise.

    >>> from anyorder.constructions import construct
    >>> model = construct("bigram", order=1, alphabet_size=2, length=8)
    >>> expected(model, np.array([0, 1, 0]), order=1).tolist()
    [[nan, nan], [nan, nan], [0.0, 1.0]]
    """
    promise = model.certificate
    estimator = "kgram" if promise is None else promise.estimator
    rows = StreamingEstimator(order, model.alphabet_size, estimator, beta=beta).distributions(tokens)
    if promise is not None:
        rows[order - 1 : order - 1 + find(promise.construction).opening] = np.nan
    return rows


def errors(
    model: Transformer, batch: Int[np.ndarray, "count length"], order: int, beta: float = 1.0
) -> Float[np.ndarray, "count length"]:
    """The largest error of a probability at every position, NaN where nothing is promised.

    An output that is not a number is infinitely wrong.
    """
    given = np.asarray(jax.vmap(model)(jnp.asarray(batch, jnp.int32)).astype(jnp.float64))
    exact = np.stack([expected(model, tokens, order, beta) for tokens in batch])
    wrong = np.nan_to_num(np.abs(given - exact), nan=np.inf).max(axis=2)
    return np.where(np.isnan(exact[:, :, 0]), np.nan, wrong)


def verify(
    name: str,
    *,
    order: int,
    alphabet_size: int,
    length: int,
    dtype: str = "float64",
    sequences: int = 8,
    seed: int = 0,
    **options: Any,
) -> Verification:
    """Build a construction and measure its worst error on random, periodic, sparse and de Bruijn sequences.

    `options` are those of `construct`: `target_error`, `kappa`, `force`, and the construction's own.

    >>> verify("k-head", order=2, alphabet_size=2, length=64, sequences=4).passed
    True
    """
    require(sequences >= 1, f"sequences is {sequences}, must be at least 1; 8 shows every kind twice")
    force = options.pop("force", False)
    made = plan(name, order=order, alphabet_size=alphabet_size, length=length, dtype=dtype, **options)
    model = made.build(force)
    batch = hard_sequences(count=sequences, length=length, alphabet_size=alphabet_size, order=order, seed=seed)
    measured = errors(model, batch, order, float(made.options.get("beta", 1.0)))
    defined = ~np.isnan(measured)
    worst = float(np.max(measured, initial=0.0, where=defined))
    promise = {} if model.certificate is None else model.certificate.as_dict()
    return Verification(
        construction=name,
        order=order,
        alphabet_size=alphabet_size,
        length=length,
        dtype=model.dtype.name,
        layers=len(model.layers),
        heads=tuple(len(layer.heads) for layer in model.layers),
        dimension=model.dimension,
        parameters=count_arrays(model),
        kappa=promise.get("kappa"),
        margin=promise.get("margin"),
        bits_needed=promise.get("bits_needed"),
        mantissa_bits=promise.get("mantissa_bits"),
        bound=promise.get("bound"),
        max_error=worst,
        positions_checked=int(defined.sum()),
        passed=within(worst, promise.get("bound")),
    )
