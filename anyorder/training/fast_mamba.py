"""The fast form of a Mamba head on a whole batch.

In layer 1 only the distinct embeddings are projected; the convolution is then a product with the one-hot tokens at each
tap. The logarithm of a product of decays is a sum, here a product with a triangular matrix.
"""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from anyorder.models import Mamba
from anyorder.models.mlp import EPSILON
from anyorder.training.gradients import add_row, decayed, linear, mix, products

Rows = Float[Array, "rows width"]


def write(
    head: Mamba, read: Float[Array, "read d"], batch: int, one_hot: Float[Array, "rows distinct"] | None
) -> Float[Array, "rows d"]:
    """The contribution of a head to the stream.

    read: the normed stream at every position of every sequence or, with `one_hot`, the distinct normed embeddings.
    """
    state = len(head.key)
    sides = zip(
        (head.query, head.key, head.value),
        jnp.split(head.taps, [state, 2 * state], axis=1),
        jnp.split(head.taps_bias, [state, 2 * state]),
        strict=True,
    )
    queries, keys, values = (_convolved(read, *side, batch, one_hot) for side in sides)
    steps = jax.nn.softplus(read @ head.step + head.step_bias)
    gates = jax.nn.silu(linear(read, head.gate))
    if one_hot is not None:
        steps, gates = one_hot @ steps, linear(one_hot, gates.T)
    steps = steps.reshape(batch, -1)
    causal = np.tri(steps.shape[1], dtype=bool)
    scores = products(queries, keys) * steps[:, None, :]
    if head.decay is None:
        scores = jnp.where(causal, scores, 0)
    else:
        along = -(steps * jnp.exp(head.decay)) @ causal.T.astype(steps.dtype)
        scores = decayed(scores, along)
    gated = (mix(scores, values) + head.skip * values).reshape(-1, values.shape[-1]) * gates
    mean = jnp.square(gated) @ jnp.full((gated.shape[1], 1), 1 / gated.shape[1], gated.dtype)
    return linear(gated * jax.lax.rsqrt(mean + EPSILON) * head.gain, head.projection)


def _convolved(
    read: Float[Array, "read d"],
    weight: Array,
    taps: Float[Array, "taps channels"],
    bias: Array,
    batch: int,
    one_hot: Array | None,
) -> Float[Array, "batch length channels"]:
    """SiLU of the convolution of W x, in the sequences of a batch."""
    if one_hot is None:
        rows = _split(linear(read, weight), batch)
        mixed = sum((taps[offset] * _later(rows, offset) for offset in range(1, len(taps))), taps[0] * rows)
        return jax.nn.silu(mixed + bias)
    distinct, tokens = read @ weight.T, _split(one_hot, batch)
    windows = jnp.concatenate([_later(tokens, offset) for offset in range(len(taps))], axis=-1)
    table = (taps[:, None, :] * distinct).reshape(-1, distinct.shape[1])
    return _split(jax.nn.silu(add_row(linear(windows.reshape(-1, len(table)), table.T), bias)), batch)


def _split(rows: Rows, batch: int) -> Float[Array, "batch length width"]:
    return rows.reshape(batch, -1, rows.shape[-1])


def _later(rows: Float[Array, "batch length width"], offset: int) -> Float[Array, "batch length width"]:
    """Rows moved to later positions, with zeros before them."""
    return jnp.pad(rows, ((0, 0), (offset, 0), (0, 0)))[:, : rows.shape[1]]
