"""The optimiser: what turns a gradient into a change, and the rate as a function of the step."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import optax
import optax.contrib
from jaxtyping import Array, Float, Int

from anyorder.training.config import Optimisation

#: Weights that are linear maps of the stream; all others are tables, gains and biases.
_MATRICES = ("query", "key", "value", "projection", "weight", "output")
#: Newton-Schulz steps see a matrix; the size of Muon's changes is set to that of AdamW's.
_RMS = 0.2


def optimiser(settings: Optimisation) -> optax.GradientTransformation:
    """Clipping, preconditioning and decay; what comes out is still to be multiplied by the rate.

    >>> transformation = optimiser(Optimisation(optimiser="muon"))
    """
    if settings.optimiser == "muon":
        changed = optax.contrib.muon(
            1.0,
            weight_decay=settings.weight_decay,
            weight_decay_mask=_decayed,
            adam_b1=settings.beta1,
            adam_b2=settings.beta2,
            adam_weight_decay=settings.weight_decay,
            muon_weight_dimension_numbers=_orthogonalised,
            consistent_rms=_RMS,
        )
    else:
        changed = optax.adamw(1.0, settings.beta1, settings.beta2, weight_decay=settings.weight_decay, mask=_decayed)
    return optax.chain(optax.clip_by_global_norm(settings.clip), changed) if settings.clip else changed


def _decayed(weights: Any) -> Any:
    return jax.tree_util.tree_map_with_path(lambda path, _: _name(path) in _MATRICES, weights)


def _orthogonalised(weights: Any) -> Any:
    def numbers(path: Any, _: Any) -> optax.contrib.MuonDimensionNumbers | None:
        hidden = _name(path) in _MATRICES and _name(path) != "output"
        return optax.contrib.MuonDimensionNumbers(reduction_axis=1, output_axis=0) if hidden else None

    return jax.tree_util.tree_map_with_path(numbers, weights)


def _name(path: Any) -> str:
    return path[-1].name


def rate(settings: Optimisation) -> Callable[[Int[Array, ""]], Float[Array, ""]]:
    """The rate of every step, as a fraction of the peak: a rise, then a fall to `final_rate` at the last step.

    >>> fraction = rate(Optimisation(steps=101, warmup=1, final_rate=0.0))
    >>> [round(float(fraction(jnp.int32(step))), 3) for step in (0, 1, 51, 100)]
    [0.5, 1.0, 0.492, 0.0]
    """
    falling = max(settings.steps - 1 - settings.warmup, 1)
    final = jnp.float32(settings.final_rate)

    def fraction(step: Int[Array, ""]) -> Float[Array, ""]:
        rising = (step + 1).astype(jnp.float32) / (settings.warmup + 1)
        done = jnp.clip((step - settings.warmup).astype(jnp.float32) / falling, 0, 1)
        left = {"cosine": (1 + jnp.cos(jnp.pi * done)) / 2, "linear": 1 - done, "constant": jnp.ones_like(done)}
        fallen = left[settings.schedule] * (1 - final) + final
        return jnp.where(step < settings.warmup, rising, fallen)

    return fraction
