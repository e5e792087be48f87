"""`Transformer.log_probabilities` with fewer operations.

The results agree up to rounding; `anyorder.models` is the reference.

- Layer 1 reads only S distinct vectors, or S + 1 with a beginning token: these are projected instead of all rows.
  With E the one-hot tokens, its scores are E (Q Kᵀ) Eᵀ plus, for the offsets, one of S Toeplitz matrices in each row,
  and its output is (att E)(V W_projᵀ). So the stream after it is F U, with few columns in F = [E, att E, …], and the
  first matrix of the MLP multiplies U only.
- Consecutive matrices are multiplied first: W_Kᵀ W_Q in the scores, W_proj W_V in the output of a head, and W_o with
  the latter if there is nothing between the last head and the output.
- A whole batch is processed at once, so that the gradient of a matrix is one product over all rows.
- In long sequences queries attend in blocks: the keys of a block end with its last query, so that half of the scores
  are never computed, and those of a block fit into the cache.
- Norms, attention and linear maps have hand-written gradients: see `anyorder.training.gradients`.
"""

from __future__ import annotations

from functools import partial
from itertools import pairwise

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Int

from anyorder.models import Head, Layer, LayerNorm, Mamba, Transformer
from anyorder.models.arithmetic import unit
from anyorder.models.mlp import ACTIVATIONS, EPSILON, Norm
from anyorder.training.gradients import (
    add_row,
    causal_softmax,
    decayed,
    layer_norm,
    linear,
    mix,
    products,
    unit_products,
)

Rows = Float[Array, "rows width"]
Scores = Float[Array, "batch queries keys"]
Features = Float[Array, "batch length distinct"]

#: Approximate number of queries in a block, chosen so that its scores fit into the cache of a core.
BLOCK = 128


def covers(model: Transformer) -> bool:
    """Whether there is a fast form of this model.

    >>> from anyorder.training.config import Config
    >>> from anyorder.training.initial import initial_model
    >>> covers(initial_model(Config(), jax.random.key(0)))
    True
    """
    heads = [head for layer in model.layers for head in layer.heads]
    plain = model.output_map == "softmax" and model.positions is None
    plain = plain and all(layer.convolution is None for layer in model.layers)
    return plain and all(isinstance(head, Mamba) or (isinstance(head, Head) and _plain(head)) for head in heads)


def _plain(head: Head) -> bool:
    return head.projection is not None and head.value_positions is None and head.rotary is None


def log_probabilities(model: Transformer, tokens: Int[Array, "batch length"]) -> Float[Array, "batch length symbols"]:
    """Logarithms of the next-token distributions after every position of every sequence."""
    embedding = jnp.asarray(model.embedding)
    output = embedding if model.output is None else jnp.asarray(model.output)
    if model.beginning is not None:
        embedding = jnp.concatenate([embedding, model.beginning[None]])
        tokens = jnp.pad(tokens, ((0, 0), (1, 0)), constant_values=model.alphabet_size)
    batch = len(tokens)
    one_hot = jax.nn.one_hot(tokens, len(embedding), dtype=embedding.dtype)

    first, *others = model.layers
    read = _normed(first.attention_norm, embedding)
    features, rows = [one_hot], [embedding]
    for head in first.heads:
        if isinstance(head, Head):
            features.append(_first_attention(head, read, one_hot))
            rows.append(read @ head.value.T @ _projection(head).T)
    table, flat = jnp.concatenate(rows), _flat(jnp.concatenate(features, axis=-1))
    x, recurrent = linear(flat, table.T), [head for head in first.heads if isinstance(head, Mamba)]
    met = (
        linear(flat, first.mlp[0].weight @ table.T) if first.mlp and first.mlp_norm is None and not recurrent else None
    )
    x = sum((_write(head, read, batch, _flat(one_hot)) for head in recurrent), x)
    x = _stack(first, x, met)

    added = jnp.zeros((), x.dtype)
    for layer in others:
        read = _normed(layer.attention_norm, x)
        ends = layer is model.layers[-1] and not layer.mlp and model.final_norm is None
        if ends and all(isinstance(head, Head) for head in layer.heads):
            added = sum((_attend(head, read, batch, output) for head in layer.heads), added)
        else:
            x = sum((_attend(head, read, batch, None) for head in layer.heads), x)
            x = _stack(layer, x, None)
    logits = linear(_normed(model.final_norm, x), output) + added
    if model.output_bias is not None:
        logits = add_row(logits, model.output_bias)
    logits = logits.reshape(batch, -1, len(output))
    return jax.nn.log_softmax(logits if model.beginning is None else logits[:, 1:], axis=-1)


def _flat(x: Float[Array, "batch length width"]) -> Rows:
    return x.reshape(-1, x.shape[-1])


def _split(rows: Rows, batch: int) -> Float[Array, "batch length width"]:
    return rows.reshape(batch, -1, rows.shape[-1])


def _normed(norm: Norm | None, x: Rows) -> Rows:
    if isinstance(norm, LayerNorm):
        return layer_norm(x, norm.gain, norm.bias)
    return x if norm is None else norm(x)


def _stack(layer: Layer, x: Rows, met: Float[Array, "rows hidden"] | None) -> Rows:
    """The MLP of a layer; `met` is the product of its first matrix with its input, if already computed."""
    points: tuple[Rows, ...] = (x,)
    read = _normed(layer.mlp_norm, x)
    for mlp in layer.mlp:
        product = linear(read, mlp.weight) if met is None else met
        active = ACTIVATIONS[mlp.activation](product if mlp.bias is None else add_row(product, mlp.bias))
        read, met = _normed(mlp.norm, active), None
        read = read if mlp.skip is None else points[mlp.skip] + read
        points = (*points, read)
    return points[-1]


def blocks(length: int) -> list[tuple[int, int]]:
    """The first query of every block, and the one after its last.

    >>> blocks(33), blocks(257)
    ([(0, 33)], [(0, 128), (128, 257)])
    """
    edges = np.linspace(0, length, max(1, round(length / BLOCK)) + 1).astype(int).tolist()
    return list(pairwise(edges))


def _projection(head: Head) -> Float[Array, "d width"]:
    assert head.projection is not None
    return jnp.asarray(head.projection)


def _first_attention(head: Head, read: Float[Array, "distinct d"], one_hot: Features) -> Features:
    """The input of a head of layer 1: its attention to each of the distinct vectors."""
    queries, keys = read @ head.query.T, read @ head.key.T
    if head.normalise:
        queries, keys = unit(queries), unit(keys)
    queries = queries * head.scale
    by_key = jnp.einsum("bks,qs->bqk", one_hot, queries @ keys.T)  # [batch, symbol of the query, key]
    found = []
    for first, last in blocks(one_hot.shape[1]):
        scores = jnp.einsum("bns,bsk->bnk", one_hot[:, first:last], by_key[:, :, :last])
        if head.offset_keys is not None:
            by_offset = toeplitz(queries @ head.offset_keys.T, first, last)
            scores = scores + jnp.einsum("bns,snk->bnk", one_hot[:, first:last], by_offset)
        found.append(causal_softmax(scores) @ one_hot[:, :last])
    return jnp.concatenate(found, axis=1)


def toeplitz(by_offset: Float[Array, "distinct offsets"], first: int, last: int) -> Float[Array, "distinct rows keys"]:
    """The matrices whose entry (n, i) is that of offset n - i, zero beyond the offsets and above the diagonal.

    They have the rows from `first` to before `last`, and `last` columns.

    >>> toeplitz(jnp.asarray([[1.0, 2.0]]), 0, 3)[0].tolist()
    [[1.0, 0.0, 0.0], [2.0, 1.0, 0.0], [0.0, 2.0, 1.0]]
    """
    return jnp.pad(by_offset, ((0, 0), (0, 1)))[:, _offsets(first, last, by_offset.shape[1])]


def _offsets(first: int, last: int, table: int) -> Int[np.ndarray, "rows keys"]:
    """The offset of every query and key; offsets outside a table of this size are replaced by its size."""
    offset = np.arange(first, last)[:, None] - np.arange(last)[None, :]
    return np.where((offset < 0) | (offset >= table), table, offset)


def _attend(
    head: Head | Mamba, read: Rows, batch: int, output: Float[Array, "symbols d"] | None
) -> Float[Array, "rows written"]:
    """The head's contribution to the stream or, with `output`, to the logits."""
    if isinstance(head, Mamba):
        return _write(head, read, batch, None)
    width, d = head.query.shape
    folds = 2 * width > d  # else two narrow products are cheaper than one wide one
    split = partial(_split, batch=batch)
    if folds and not head.normalise:
        queries, keys = linear(read, head.key.T @ head.query), read
    else:
        queries, keys = linear(read, head.query), linear(read, head.key)
    by_offset = None
    if head.offset_keys is not None:
        if folds and not head.normalise:
            by_offset = split(linear(read, head.offset_keys @ head.query))
        else:
            by_offset = split(linear(unit(queries) if head.normalise else queries, head.offset_keys))
    if output is not None:
        value = output @ _projection(head) @ head.value
    else:
        value = _projection(head) @ head.value if folds else jnp.asarray(head.value)
    scored = unit_products if head.normalise else partial(jnp.einsum, "bnd,bkd->bnk")
    queries, keys, values, found = split(queries), split(keys), split(linear(read, value)), []
    for first, last in blocks(queries.shape[1]):
        scores = scored(queries[:, first:last], keys[:, :last])
        if by_offset is not None:
            places = jnp.asarray(_offsets(first, last, by_offset.shape[2]), jnp.int32)[None]
            padded = jnp.pad(by_offset[:, first:last], ((0, 0), (0, 0), (0, 1)))
            scores = scores + jnp.take_along_axis(padded, places, axis=2)
        found.append(mix(causal_softmax(scores * head.scale), values[:, :last]))
    read_by_head = _flat(jnp.concatenate(found, axis=1))
    return read_by_head if folds or output is not None else linear(read_by_head, _projection(head))


def _write(
    head: Mamba, read: Float[Array, "read d"], batch: int, one_hot: Float[Array, "rows distinct"] | None
) -> Float[Array, "rows d"]:
    """The contribution of a Mamba head to the stream.

    In layer 1 only the distinct embeddings are projected; the convolution is then a product with the one-hot tokens at
    each tap. The logarithm of a product of decays is a sum, here a product with a triangular matrix.

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


def _later(rows: Float[Array, "batch length width"], offset: int) -> Float[Array, "batch length width"]:
    """Rows shifted to later positions, with zeros before them."""
    return jnp.pad(rows, ((0, 0), (offset, 0), (0, 0)))[:, : rows.shape[1]]
