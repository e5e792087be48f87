"""The compiled program of training: many steps in one call, sequences drawn inside it.

A step is a function of the weights, the seed and the number of the step, so that a run resumed at any step gives the
same result.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import optax
from jaxtyping import Array, Bool, Float, Int, PRNGKeyArray

from anyorder.chains import Source
from anyorder.estimators import floor
from anyorder.io.numerics import dtype_of
from anyorder.models import Transformer
from anyorder.models.hooks import Hook, Place, plain
from anyorder.training import fast
from anyorder.training.config import Config, Optimisation
from anyorder.training.optimiser import Numbers, numbers, optimiser, rate

#: Most steps of one call.
CHUNK = 50
#: Largest size of one activation of a part of a batch; about thirty activations are kept for the gradient.
CACHED = 1 << 15
#: Smallest part of a batch with more than one sequence.
FEWEST_TOGETHER = 4
#: The least probability assigned by a model without a softmax.
SMALLEST = 1e-5


class State(NamedTuple):
    """The state that a step updates: the arrays of the model and of the optimiser."""

    weights: eqx.Module
    moments: optax.OptState


class Keys(NamedTuple):
    """The key from which all randomness of one model derives."""

    weights: PRNGKeyArray
    data: PRNGKeyArray


def keys(seed: int) -> Keys:
    """The keys of a seed.

    >>> keys(0).data == keys(1).data
    Array(False, dtype=bool)
    """
    root = jax.random.key(seed)
    return Keys(jax.random.fold_in(root, 0), jax.random.fold_in(root, 1))


def start(config: Config, model: eqx.Module) -> State:
    """The state before the first step."""
    weights = eqx.filter(model, eqx.is_inexact_array)
    return State(weights, optimiser(config.optimisation, numbers(config)).init(weights))


def batch_loss(
    model: eqx.Module,
    settings: Optimisation,
    source: Source,
    key: PRNGKeyArray,
    dropped: float | Float[Array, ""] | None = None,
) -> Float[Array, ""]:
    """Mean cross-entropy of one fresh batch, over the scored predictions.

    `dropped` is the fraction that dropout sets to zero, where it is an input of a compiled program.
    """
    dtype = dtype_of(settings.dtype)
    drawn = source.sample(key, settings.batch, dtype)
    first = source.order if settings.predictions == "window" else 1  # the first scored token
    wanted = drawn.truth[:, first:]
    if settings.targets == "sampled":
        wanted = jax.nn.one_hot(drawn.tokens[:, first:], source.alphabet_size, dtype=dtype)
    elif settings.targets == "bayes":
        best = jax.vmap(floor(source))(drawn.tokens)
        wanted = jnp.where(best.defined[..., None], best.probabilities, drawn.truth)[:, first - 1 : -1].astype(dtype)
    keys = amount = None
    if settings.dropout:
        keys = jax.random.split(jax.random.fold_in(key, 1), settings.batch)
        amount = jnp.asarray(settings.dropout if dropped is None else dropped, dtype)
    weights, frame = eqx.partition(model, eqx.is_inexact_array)

    def loss(
        weights: eqx.Module, amount: Array | None, read: Array, wanted: Array, keys: Array | None
    ) -> Float[Array, ""]:
        model = eqx.combine(weights, frame)
        if amount is None or keys is None:
            logarithms = log_probabilities(model, read)
        else:
            logarithms = jax.vmap(lambda row, key: _logarithms(model, row, dropout(amount, key)))(read, keys)
        return -(wanted * logarithms[:, first - 1 :]).sum(axis=-1).mean()  # row n predicts token n + 1

    fitting = parts(settings.batch, (source.length - 1) * widest(model)) if isinstance(model, Transformer) else 1
    return _mean_over_parts(loss, fitting, weights, amount, (drawn.tokens[:, :-1], wanted, keys))


def widest(model: Transformer) -> int:
    """The numbers in one row of the widest activation: the stream, or the values of all heads of a layer."""
    return max(model.dimension, *(sum(len(head.value) for head in layer.heads) for layer in model.layers))


def parts(batch: int, numbers: int) -> int:
    """The number of parts of a batch such that a part fits into a core's cache; `numbers` is a sequence's activation.

    A part has one sequence or at least `FEWEST_TOGETHER`: with two, the measured time per token was a fifth longer.

    >>> parts(64, 32 * 64), parts(64, 256 * 64)
    (4, 64)
    """
    if jax.default_backend() != "cpu":
        return 1
    divisors = [count for count in range(1, batch) if batch % count == 0]
    most = CACHED // numbers  # sequences of a part
    return next((count for count in divisors if FEWEST_TOGETHER <= batch // count <= most), batch)


Batch = tuple[Array, Array, Array | None]
"""Inputs, targets and, with dropout, keys; one sequence per row."""
PartLoss = Callable[[eqx.Module, Array | None, Array, Array, Array | None], Float[Array, ""]]
"""The mean loss of weights on a part of a batch; the second argument is the fraction that dropout sets to zero."""


@partial(jax.custom_vjp, nondiff_argnums=(0, 1))
def _mean_over_parts(
    loss: PartLoss, count: int, weights: eqx.Module, amount: Array | None, batch: Batch
) -> Float[Array, ""]:
    """The mean loss over a batch, with the gradient accumulated part by part."""
    each = jax.lax.map(lambda part: loss(weights, amount, *part), _split(batch, count))
    return each.mean()


def _split(batch: Batch, count: int) -> Batch:
    return jax.tree.map(lambda leaf: leaf.reshape(count, -1, *leaf.shape[1:]), batch)


def _with_gradient(
    loss: PartLoss, count: int, weights: eqx.Module, amount: Array | None, batch: Batch
) -> tuple[Float[Array, ""], eqx.Module]:
    def add(total: tuple[Array, eqx.Module], part: Batch) -> tuple[tuple[Array, eqx.Module], None]:
        return jax.tree.map(jnp.add, total, jax.value_and_grad(loss)(weights, amount, *part)), None

    zero = jax.tree.map(jnp.zeros_like, (batch[1][0, 0, 0], weights))
    total, _ = jax.lax.scan(add, zero, _split(batch, count))
    return jax.tree.map(lambda leaf: leaf / count, total)


_mean_over_parts.defvjp(
    _with_gradient,
    lambda loss, count, gradient, pulled: (jax.tree.map(lambda leaf: leaf * pulled, gradient), None, None),
)


def log_probabilities(model: Any, tokens: Int[Array, "batch length"]) -> Float[Array, "batch length symbols"]:
    """Logarithms of the predictions on a batch, by the fast form if there is one."""
    if isinstance(model, Transformer) and fast.covers(model):
        return fast.log_probabilities(model, tokens)
    return jax.vmap(partial(_logarithms, model))(tokens)


def _logarithms(model: Any, tokens: Int[Array, "length"], hook: Hook = plain) -> Float[Array, "length symbols"]:
    if not isinstance(model, Transformer):
        return jax.nn.log_softmax(model(tokens), axis=-1)
    if model.output_map == "softmax":
        return model.log_probabilities(tokens, hook=hook)
    return jnp.log(as_distributions(model(tokens, hook=hook)))


def dropout(amount: float | Float[Array, ""], key: PRNGKeyArray) -> Hook:
    """A hook for one forward pass that sets this fraction of the numbers to zero and scales up the others.

    As in GPT-2 it drops embeddings, attention weights, and the sums that attention and MLP add to the stream.
    """
    numbers = itertools.count()

    def drop(place: Place, values: Float[Array, "*shape"]) -> Float[Array, "*shape"]:
        if place not in ("embedding", "attention", "written"):
            return values
        kept = 1 - jnp.asarray(amount, values.dtype)
        chosen = jax.random.bernoulli(jax.random.fold_in(key, next(numbers)), kept, values.shape)
        return jnp.where(chosen, values / kept, jnp.zeros_like(values))

    return drop


def as_distributions(probabilities: Float[Array, "*batch symbols"]) -> Float[Array, "*batch symbols"]:
    """The output of a model without a softmax as positive distributions, for which the loss is finite.

    A construction may output zeros, and in training its output need not sum to one: entries are clipped from below
    at a small number and divided by their sum.

    >>> as_distributions(jnp.asarray([[1.0, 0.0]], jnp.float64)).round(5).tolist()
    [[0.99999, 1e-05]]
    """
    least = jnp.maximum(probabilities, jnp.asarray(SMALLEST, probabilities.dtype))
    return least / least.sum(axis=-1, keepdims=True)


#: The new state, the loss of every step, and whether all weights are finite.
Advanced = tuple[State, Float[Array, "chunk"], Bool[Array, ""]]
Advance = Callable[..., Advanced]


def program(config: Config, model: eqx.Module) -> Advance:
    """`advance(state, key, inputs, source, first, count)`: `count` ≤ CHUNK steps of one model from step `first` on.

    The non-array fields of `model` and the `structure` of the config are constants of the compiled program; arrays,
    numbers and the source are inputs.
    """
    frame = eqx.filter(model, eqx.is_inexact_array, inverse=True)
    settings = config.optimisation
    dtype = dtype_of(settings.dtype)

    def advance(
        state: State, key: PRNGKeyArray, inputs: Numbers, source: Source, first: Int[Array, ""], count: Int[Array, ""]
    ) -> Advanced:
        change, fraction = optimiser(settings, inputs), rate(settings.schedule, inputs)

        def loss_of(weights: eqx.Module, step: Int[Array, ""]) -> Float[Array, ""]:
            return batch_loss(
                eqx.combine(weights, frame), settings, source, jax.random.fold_in(key, step), inputs.dropout
            )

        def step(place: Int[Array, ""], carried: tuple[State, Array]) -> tuple[State, Array]:
            (weights, moments), losses = carried
            loss, gradient = jax.value_and_grad(loss_of)(weights, first + place)
            changes, moments = change.update(gradient, moments, weights)
            size = (inputs.learning_rate * fraction(first + place)).astype(dtype)
            weights = jax.tree.map(lambda weight, change: weight + size * change, weights, changes)
            return State(weights, moments), losses.at[place].set(loss)

        losses = jnp.full(CHUNK, jnp.nan, dtype)
        state, losses = jax.lax.fori_loop(jnp.int32(0), count, step, (state, losses))
        sound = jnp.stack([jnp.isfinite(weight).all() for weight in jax.tree.leaves(state.weights)]).all()
        return state, losses, sound

    return advance
