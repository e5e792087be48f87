"""Verification: run a construction on hard sequences and compare it with the exact estimator."""

from __future__ import annotations

import dataclasses
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float, Int

from anyorder import estimators
from anyorder.constructions.parameters import count_arrays
from anyorder.constructions.registry import construct
from anyorder.constructions.sequences import hard_sequences
from anyorder.errors import require
from anyorder.estimators import Estimate
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
    return bound is None or (error <= bound < 1)


def target_estimate(
    model: Transformer, tokens: Int[Array, "length"], name: str, order: int, **options: Any
) -> Estimate:
    """What the construction should give, with the positions at which it should."""
    estimator = "kgram" if model.certificate is None else model.certificate.estimator
    extra = {"beta": options["beta"]} if "beta" in options else {}
    estimate = getattr(estimators, estimator)(tokens, order=order, alphabet_size=model.alphabet_size, **extra)
    if name == "two-layer-qk":
        # Its MLP forms the query from a full window v_n, so one position later than the estimator begins.
        estimate = estimate._replace(defined=estimate.defined.at[order - 1].set(False))
    return estimate


@eqx.filter_jit
def errors(
    model: Transformer,
    batch: Int[Array, "count length"],
    name: str,
    order: int,
    options: tuple[tuple[str, Any], ...],
) -> tuple[Float[Array, "count length"], Bool[Array, "count length"]]:
    """The largest error of a probability at every position, and where the estimator is defined."""

    def one(tokens: Int[Array, "length"]) -> tuple[Float[Array, "length"], Bool[Array, "length"]]:
        estimate = target_estimate(model, tokens, name, order, **dict(options))
        difference = jnp.abs(model(tokens).astype(jnp.float64) - estimate.probabilities)
        return jnp.where(estimate.defined, jnp.max(difference, axis=1), 0.0), estimate.defined

    return jax.vmap(one)(batch)


def verify(
    name: str,
    *,
    order: int,
    alphabet_size: int,
    length: int,
    dtype: str = "float64",
    sequences: int = 8,
    seed: int = 0,
    force: bool = False,
    target_error: float | None = None,
    kappa: float | None = None,
    **options: Any,
) -> Verification:
    """Build a construction and measure its worst error on random, periodic, sparse and de Bruijn sequences.

    >>> verify("k-head", order=2, alphabet_size=2, length=64, sequences=4).passed
    True
    """
    require(sequences >= 1, f"sequences is {sequences}, must be at least 1; 8 shows every kind twice")
    model = construct(
        name,
        order=order,
        alphabet_size=alphabet_size,
        length=length,
        dtype=dtype,
        target_error=target_error,
        kappa=kappa,
        force=force,
        **options,
    )
    batch = hard_sequences(count=sequences, length=length, alphabet_size=alphabet_size, order=order, seed=seed)
    error, defined = errors(model, jnp.asarray(batch, jnp.int32), name, order, tuple(options.items()))
    worst = float(np.max(error, initial=0.0))
    promise = {} if model.certificate is None else model.certificate.as_dict()
    return Verification(
        construction=name,
        order=order,
        alphabet_size=alphabet_size,
        length=length,
        dtype=dtype,
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
        positions_checked=int(np.sum(defined)),
        passed=within(worst, promise.get("bound")),
    )
