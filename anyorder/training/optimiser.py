"""The optimiser, which turns a gradient into an update, and the learning-rate schedule."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import optax
import optax.contrib
from jaxtyping import Array, Float, Int

from anyorder.io.numerics import dtype_of
from anyorder.training.config import Config, Optimisation

#: Weights that are linear maps of the stream; all others are tables, gains and biases.
_MATRICES = ("query", "key", "value", "gate", "projection", "weight", "output")
#: Root mean square of Muon's updates, equal to that of AdamW's.
_RMS = 0.2


class Numbers(NamedTuple):
    """Hyperparameters that are inputs of the compiled program, in which models that share it may differ."""

    learning_rate: Float[Array, ""]
    beta1: Float[Array, ""]
    beta2: Float[Array, ""]
    weight_decay: Float[Array, ""]
    clip: Float[Array, ""]
    warmup: Float[Array, ""]
    steps: Float[Array, ""]
    final_rate: Float[Array, ""]
    dropout: Float[Array, ""]


def numbers(config: Config, learning_rate: float | None = None) -> Numbers:
    """The numbers of a config, in the dtype of its weights; the learning rate defaults to the config's first one."""
    settings = config.optimisation
    dtype = dtype_of(settings.dtype)
    peak = settings.learning_rate[0] if learning_rate is None else learning_rate
    return Numbers(
        learning_rate=jnp.float32(peak),
        beta1=jnp.asarray(settings.beta1, dtype),
        beta2=jnp.asarray(settings.beta2, dtype),
        weight_decay=jnp.asarray(settings.weight_decay, dtype),
        clip=jnp.asarray(settings.clip or jnp.inf, dtype),
        warmup=jnp.float32(settings.rising),
        steps=jnp.float32(settings.steps),
        final_rate=jnp.float32(settings.final_rate),
        dropout=jnp.asarray(settings.dropout, dtype),
    )


def optimiser(settings: Optimisation, inputs: Numbers) -> optax.GradientTransformation:
    """Clipping, preconditioning and decay; the update is not yet multiplied by the learning rate."""
    if settings.optimiser == "muon":
        changed = _muon(inputs)
    else:
        changed = optax.adamw(1.0, inputs.beta1, inputs.beta2, weight_decay=inputs.weight_decay, mask=_decayed)
    return optax.chain(optax.clip_by_global_norm(inputs.clip), changed)


def _muon(inputs: Numbers) -> optax.GradientTransformation:
    """`optax.contrib.muon` with one call for all matrices of a shape, which compiles and runs in less time."""
    matrices = optax.chain(
        _orthogonalised(),
        optax.stateless(lambda changes, _: jax.tree.map(lambda one: one * (_RMS * max(one.shape) ** 0.5), changes)),
        optax.add_decayed_weights(inputs.weight_decay),
        optax.scale(-1.0),
    )
    others = optax.adamw(1.0, inputs.beta1, inputs.beta2, weight_decay=inputs.weight_decay, nesterov=True)
    return optax.partition({"matrices": matrices, "others": others}, _kinds)


def _orthogonalised() -> optax.GradientTransformation:
    numbers = optax.contrib.MuonDimensionNumbers(reduction_axis=2, output_axis=1)
    inner = optax.contrib.scale_by_muon(weight_dimension_numbers=lambda stacks: jax.tree.map(lambda _: numbers, stacks))

    def stacked(tree: Any) -> dict[tuple[int, ...], Array]:
        leaves = jax.tree.leaves(tree)
        return {shape: jnp.stack([one for one in leaves if one.shape == shape]) for shape in {x.shape for x in leaves}}

    def apart(stacks: dict[tuple[int, ...], Array], tree: Any) -> Any:
        each = {shape: iter(stack) for shape, stack in stacks.items()}
        return jax.tree.map(lambda leaf: next(each[leaf.shape]), tree)

    def update(gradient: Any, state: Any, weights: Any = None) -> tuple[Any, Any]:
        changes, after = inner.update(stacked(gradient), state._replace(mu=stacked(state.mu)))
        return apart(changes, gradient), after._replace(mu=apart(after.mu, gradient))

    return optax.GradientTransformation(inner.init, update)


def _decayed(weights: Any) -> Any:
    return jax.tree_util.tree_map_with_path(lambda path, leaf: leaf.ndim == 2 and _name(path) in _MATRICES, weights)


def _kinds(weights: Any) -> Any:
    def kind(path: Any, leaf: Any) -> str:
        matrix = leaf.ndim == 2 and _name(path) in _MATRICES and _name(path) != "output"
        return "matrices" if matrix else "others"

    return jax.tree_util.tree_map_with_path(kind, weights)


def _name(path: Any) -> str:
    return getattr(path[-1], "name", "")  # lists and dicts in a user's module have no name


def rate(schedule: str, inputs: Numbers) -> Callable[[Int[Array, ""]], Float[Array, ""]]:
    """The rate of every step, as a fraction of the peak: a rise, then a fall to `final_rate` at the last step."""
    falling = jnp.maximum(inputs.steps - 1 - inputs.warmup, 1)

    def fraction(step: Int[Array, ""]) -> Float[Array, ""]:
        rising = (step + 1).astype(jnp.float32) / (inputs.warmup + 1)
        done = jnp.clip((step - inputs.warmup).astype(jnp.float32) / falling, 0, 1)
        left = {"cosine": (1 + jnp.cos(jnp.pi * done)) / 2, "linear": 1 - done, "constant": jnp.ones_like(done)}
        fallen = left[schedule] * (1 - inputs.final_rate) + inputs.final_rate
        return jnp.where(step < inputs.warmup, rising, fallen)

    return fraction
