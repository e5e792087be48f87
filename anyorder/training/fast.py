"""The same logarithms of probabilities as `Transformer.log_probabilities`, with fewer operations.

All of it is algebra that holds exactly, up to rounding; the model file remains the definition.

- Layer 1 reads only S distinct vectors, one more with a beginning token: those are projected, not the rows. With E the
  one-hot tokens its scores are E (Q Kᵀ) Eᵀ plus, for the offsets, one of S Toeplitz matrices in each row; and what it
  writes is (att E)(V W_projᵀ). So the stream after it is F U, with few columns in F = [E, att E, …], and the first
  matrix of the MLP meets U alone.
- Matrices that always meet are multiplied first: W_Kᵀ W_Q in the scores and W_proj W_V in what a head writes, and
  W_o with them where nothing stands between the last head and the output.
- A whole batch at a time, not one sequence: then the gradient of a matrix is one product over all rows, and `linear`
  says in which order its axes come, which a compiler does not always find.
"""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Int

from anyorder.transformer import Head, Layer, Transformer
from anyorder.transformer.arithmetic import unit

Rows = Float[Array, "rows width"]
Scores = Float[Array, "batch queries keys"]


def covers(model: Transformer) -> bool:
    """Whether there is a fast form of this model.

    >>> from anyorder.training.config import Config
    >>> from anyorder.training.initial import initial_model
    >>> covers(initial_model(Config(), jax.random.key(0)))
    True
    """
    heads = [head for layer in model.layers for head in layer.heads]
    plain = model.output_map == "softmax" and model.positions is None
    return plain and all(head.projection is not None and head.value_positions is None for head in heads)


def log_probabilities(model: Transformer, tokens: Int[Array, "batch length"]) -> Float[Array, "batch length symbols"]:
    """Logarithms of the next-token distributions after every position of every sequence."""
    embedding, output = model.embedding, model.embedding if model.output is None else model.output
    if model.beginning is not None:
        embedding = jnp.concatenate([embedding, model.beginning[None]])
        tokens = jnp.pad(tokens, ((0, 0), (1, 0)), constant_values=model.alphabet_size)
    batch = len(tokens)
    one_hot = jax.nn.one_hot(tokens, len(embedding), dtype=embedding.dtype)

    first, *others = model.layers
    read = embedding if first.attention_norm is None else first.attention_norm(embedding)
    features, rows = [one_hot], [embedding]
    for head in first.heads:
        weights, values = _first_attention(head, read, one_hot)
        features.append(weights @ one_hot)
        rows.append(values)
    table, flat = jnp.concatenate(rows), _flat(jnp.concatenate(features, axis=-1))
    x = combine(flat, table)
    met = combine(flat, table @ first.mlp[0].weight.T) if first.mlp and first.mlp_norm is None else None
    x = _stack(first, x, met)

    added = jnp.zeros((), x.dtype)
    for layer in others:
        read = x if layer.attention_norm is None else layer.attention_norm(x)
        if layer is model.layers[-1] and not layer.mlp and model.final_norm is None:
            added = sum((_attend(head, read, batch, output) for head in layer.heads), added)
        else:
            x = sum((_attend(head, read, batch, None) for head in layer.heads), x)
            x = _stack(layer, x, None)
    if model.final_norm is not None:
        x = model.final_norm(x)
    logits = linear(x, output) + added
    if model.output_bias is not None:
        logits = logits + model.output_bias
    logits = logits.reshape(batch, -1, len(output))
    return jax.nn.log_softmax(logits if model.beginning is None else logits[:, 1:], axis=-1)


@jax.custom_vjp
def linear(x: Rows, weight: Float[Array, "outputs width"]) -> Float[Array, "rows outputs"]:
    """W x for every row.

    >>> linear(jnp.asarray([[1.0, 2.0]]), jnp.asarray([[3.0, 4.0]])).tolist()
    [[11.0]]
    """
    return x @ weight.T


linear.defvjp(
    lambda x, weight: (x @ weight.T, (x, weight)),
    lambda kept, pulled: (pulled @ kept[1], jnp.einsum("no,ni->oi", pulled, kept[0])),
)


@jax.custom_vjp
def combine(features: Rows, table: Float[Array, "width outputs"]) -> Float[Array, "rows outputs"]:
    """The rows of a table, added up with the features as weights.

    >>> combine(jnp.asarray([[0.5, 0.5]]), jnp.asarray([[3.0], [5.0]])).tolist()
    [[4.0]]
    """
    return features @ table


combine.defvjp(
    lambda features, table: (features @ table, (features, table)),
    lambda kept, pulled: (pulled @ kept[1].T, jnp.einsum("ni,no->io", kept[0], pulled)),
)


def _flat(x: Float[Array, "batch length width"]) -> Rows:
    return x.reshape(-1, x.shape[-1])


def _stack(layer: Layer, x: Rows, met: Float[Array, "rows hidden"] | None) -> Rows:
    """The MLP of a layer; `met` is the product of its first matrix with what it reads, if that is known."""
    points: tuple[Rows, ...] = (x,)
    read = x if layer.mlp_norm is None else layer.mlp_norm(x)
    for mlp in layer.mlp:
        read = mlp.finish(linear(read, mlp.weight) if met is None else met, points)
        points, met = (*points, read), None
    return points[-1]


def _first_attention(
    head: Head, read: Float[Array, "distinct d"], one_hot: Float[Array, "batch length distinct"]
) -> tuple[Scores, Float[Array, "distinct d"]]:
    """Attention of a head of layer 1, and what it writes for each of the distinct vectors that the layer reads."""
    assert head.projection is not None
    queries, keys = read @ head.query.T, read @ head.key.T
    if head.normalise:
        queries, keys = unit(queries), unit(keys)
    queries = queries * head.scale
    by_key = jnp.einsum("bks,qs->bqk", one_hot, queries @ keys.T)  # [batch, symbol of the query, key]
    scores = jnp.einsum("bns,bsk->bnk", one_hot, by_key)
    if head.offset_keys is not None:
        by_offset = toeplitz(queries @ head.offset_keys.T, one_hot.shape[1])
        scores = scores + jnp.einsum("bns,snk->bnk", one_hot, by_offset)
    return _softmax(scores), read @ head.value.T @ head.projection.T


def toeplitz(by_offset: Float[Array, "distinct offsets"], length: int) -> Float[Array, "distinct length length"]:
    """The matrices with entry (n, i) equal to that of offset n - i, zero beyond the offsets and above the diagonal.

    >>> toeplitz(jnp.asarray([[1.0, 2.0]]), 3)[0].tolist()
    [[1.0, 0.0, 0.0], [2.0, 1.0, 0.0], [0.0, 2.0, 1.0]]
    """
    return jnp.pad(by_offset, ((0, 0), (0, 1)))[:, _offsets(length, by_offset.shape[1])]


def _offsets(length: int, table: int) -> Int[np.ndarray, "length length"]:
    """The offset of every query and key; those that a table of this size does not have are the one after its last."""
    offset = np.arange(length)[:, None] - np.arange(length)[None, :]
    return np.where((offset < 0) | (offset >= table), table, offset)


def _attend(
    head: Head, read: Rows, batch: int, output: Float[Array, "symbols d"] | None
) -> Float[Array, "rows written"]:
    """What a head writes to the stream, or with `output` what that adds to the logits."""
    assert head.projection is not None
    width, d = head.query.shape
    folds = 2 * width > d  # else two narrow products are cheaper than one wide one

    def split(rows: Rows) -> Float[Array, "batch length _"]:
        return rows.reshape(batch, -1, rows.shape[-1])

    if folds and not head.normalise:
        queries, keys = linear(read, head.key.T @ head.query), read
    else:
        queries, keys = linear(read, head.query), linear(read, head.key)
    if head.normalise:
        queries, keys = unit(queries), unit(keys)
    scores = jnp.einsum("bnd,bkd->bnk", split(queries), split(keys))
    if head.offset_keys is not None:
        if folds and not head.normalise:
            by_offset = split(linear(read, head.offset_keys @ head.query))
        else:
            by_offset = split(linear(queries, head.offset_keys))
        places = jnp.asarray(_offsets(by_offset.shape[1], by_offset.shape[2]), jnp.int32)[None]
        scores = scores + jnp.take_along_axis(jnp.pad(by_offset, ((0, 0), (0, 0), (0, 1))), places, axis=2)
    weights = _softmax(scores * head.scale)
    if output is not None:
        return _flat(weights @ split(linear(read, output @ head.projection @ head.value)))
    if folds:
        return _flat(weights @ split(linear(read, head.projection @ head.value)))
    return linear(_flat(weights @ split(linear(read, head.value))), head.projection)


def _softmax(scores: Scores) -> Scores:
    return jax.nn.softmax(jnp.where(np.tri(scores.shape[-1], dtype=bool), scores, -jnp.inf), axis=-1)
