"""The weights before the first step: random for an architecture, or those of a given model."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable
from functools import partial
from typing import TypeVar

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, PRNGKeyArray

from anyorder.chains.random import Seed, as_key
from anyorder.errors import require
from anyorder.io.numerics import dtype_of
from anyorder.models import Layer, LayerNorm, MLPLayer, Transformer
from anyorder.training.config import Config
from anyorder.training.mixers import MIXERS

#: The largest weight of a start model. Constructions that round add and subtract a number near 2^52: the gradients
#: are as large, and the smallest step destroys the model.
LARGEST = 1e6
#: Deeper models than this start with fan-in weights scaled down.
_SHALLOW = 3
#: Standard deviation of GPT-2's weights.
_GPT2 = 0.02

Draw = Callable[..., Float[Array, "..."]]
NewNorm = Callable[[], LayerNorm]
Module = TypeVar("Module", bound=eqx.Module)


def initial_model(config: Config, key: Seed, from_model: Transformer | None = None) -> Transformer:
    """The model before the first step; `from_model` replaces the architecture of the config.

    >>> initial_model(Config(), 0).dimension
    32
    """
    key, dtype = as_key(key), dtype_of(config.optimisation.dtype)
    if from_model is None:
        return _random_model(config, key, dtype)
    require(
        from_model.alphabet_size == config.data.alphabet_size,
        f"the model has {from_model.alphabet_size} symbols, the chains have {config.data.alphabet_size}; "
        f"pass `alphabet_size={from_model.alphabet_size}`",
    )
    largest = max(float(jnp.abs(leaf).max()) for leaf in jax.tree.leaves(eqx.filter(from_model, eqx.is_inexact_array)))
    require(
        largest <= LARGEST,
        f"the model has a weight of {largest:.1e}, at most {LARGEST:.0e} can be trained; start from a construction "
        "without such weights, such as two-layer, k-head or k-head-bayes",
    )
    # The certificate does not cover changed weights.
    return perturbed(dataclasses.replace(from_model, certificate=None), key, config.initial.perturbation, dtype)


def model_shape(config: Config, from_model: Transformer | None = None) -> Transformer:
    """The tree of `initial_model` with shapes instead of arrays.

    >>> model_shape(Config()).layers[0].heads[0].query.shape
    (32, 32)
    """
    dtype = dtype_of(config.optimisation.dtype)
    if from_model is not None:
        plain = dataclasses.replace(from_model, certificate=None)
        return eqx.filter_eval_shape(perturbed, plain, jax.random.key(0), config.initial.perturbation, dtype)
    return eqx.filter_eval_shape(_model, config, lambda kind, *shape: jnp.zeros(shape, dtype), dtype)


def perturbed(model: Module, key: PRNGKeyArray, deviation: float, dtype: np.dtype) -> Module:
    """The model in another dtype, with normal noise on every weight."""
    weights, rest = eqx.partition(model, eqx.is_inexact_array)
    leaves, structure = jax.tree.flatten(weights)
    keys = jax.random.split(key, len(leaves))
    moved = [
        leaf.astype(dtype) + jnp.asarray(deviation, dtype) * jax.random.normal(key, leaf.shape, dtype)
        for leaf, key in zip(leaves, keys, strict=True)
    ]
    return eqx.combine(jax.tree.unflatten(structure, moved), rest)


def _random_model(config: Config, key: PRNGKeyArray, dtype: np.dtype) -> Transformer:
    """A random model whose weights are slices of one random array, whose size a first pass without numbers counts."""
    shapes: list[tuple[int, ...]] = []

    def blank(kind: str, *shape: int) -> Float[Array, "..."]:
        shapes.append(shape)
        return jnp.zeros(shape, dtype)

    eqx.filter_eval_shape(_model, config, blank, dtype)
    ends = np.cumsum([math.prod(shape) for shape in shapes])
    normal = np.asarray(jax.random.normal(key, (int(ends[-1]),), dtype))
    parts = iter(np.split(normal, ends[:-1]))

    def draw(kind: str, *shape: int) -> Float[Array, "..."]:
        deviation = np.asarray(_deviation(config, kind, shape[-1]), dtype)
        return jnp.asarray(deviation * next(parts).reshape(shape))

    return _model(config, draw, dtype)


def _deviation(config: Config, kind: str, inputs: int) -> float:
    """The standard deviation of the weights of one kind."""
    if kind == "output" and config.initial.zero_output:
        return 0.0
    if config.initial.weights == "gpt2":  # smaller, because more contributions are added up
        return _GPT2 / math.sqrt(2 * config.architecture.layers) if kind == "projection" else _GPT2
    if kind == "embedding":
        return 1.0
    return (_depth_scale(config) if kind == "projection" else 1.0) / math.sqrt(inputs)


def _depth_scale(config: Config) -> float:
    """The initial scale of writes to the stream, which makes deep pre-norm models start like shallow ones."""
    architecture = config.architecture
    return min(1.0, math.sqrt(_SHALLOW / architecture.layers)) if architecture.pre_norm else 1.0


def _model(config: Config, draw: Draw, dtype: np.dtype) -> Transformer:
    architecture, size = config.architecture, config.data.alphabet_size
    d = architecture.dimension
    return Transformer(
        embedding=draw("embedding", size, d),
        layers=tuple(_layer(config, number, draw, dtype) for number in range(architecture.layers)),
        output=None if architecture.tied else draw("output", size, d),
        output_bias=jnp.zeros(size, dtype),
        beginning=draw("embedding", d) if architecture.beginning else None,
        positions=draw("matrix", config.data.length, d) if architecture.absolute_positions else None,
        final_norm=_norm(d, dtype) if architecture.pre_norm else None,
        output_map="softmax",
    )


def _norm(width: int, dtype: np.dtype, gain: float = 1.0) -> LayerNorm:
    return LayerNorm(jnp.full(width, gain, dtype), jnp.zeros(width, dtype))


def _layer(config: Config, number: int, draw: Draw, dtype: np.dtype) -> Layer:
    architecture = config.architecture
    d, last = architecture.dimension, number == architecture.layers - 1
    stacked = architecture.mlp != "none" and (not last or architecture.last_mlp or architecture.layers == 1)
    mlp = _STACKS[architecture.mlp](d, draw, partial(_norm, d, dtype, _depth_scale(config))) if stacked else ()
    return Layer(
        **MIXERS.find(config.mixers[number]).parts(config, number, draw),
        mlp=mlp,
        attention_norm=_norm(d, dtype) if architecture.pre_norm else None,
        mlp_norm=_norm(d, dtype) if architecture.pre_norm and mlp else None,
    )


def _paper_stack(d: int, draw: Draw, norm: NewNorm) -> tuple[MLPLayer, ...]:
    """App. B.1: x + N(W_1 x), x + N(W_2 ·), · + N(W_3 ·) with a ReLU inside each; N is a layer norm here."""
    return tuple(MLPLayer(draw("matrix", d, d), norm().bias, "relu", norm(), skip) for skip in (0, 0, 2))


def _published_stack(d: int, draw: Draw, norm: NewNorm) -> tuple[MLPLayer, ...]:
    """The authors' code: the second of four layers has neither norm nor skip, so it replaces the stream."""
    first = MLPLayer(draw("matrix", d, d), norm().bias, "relu", norm(), 0)
    second = MLPLayer(draw("matrix", d, d), None, "relu")
    last = (MLPLayer(draw("matrix", d, d), None, "relu", norm(), skip) for skip in (2, 3))
    return (first, second, *last)


def _gpt2_stack(d: int, draw: Draw, norm: NewNorm) -> tuple[MLPLayer, ...]:
    zero = norm().bias
    return (
        MLPLayer(draw("matrix", 4 * d, d), jnp.zeros(4 * d, zero.dtype), "gelu"),
        MLPLayer(draw("projection", d, 4 * d), zero, "none", skip=0),
    )


_STACKS = {"paper": _paper_stack, "published": _published_stack, "gpt2": _gpt2_stack}
