"""The same logarithms of probabilities as `Transformer.log_probabilities`, with fewer operations.

All of it is algebra that holds exactly, up to rounding; the model file remains the definition.

- Layer 1 reads only S distinct vectors, one more with a beginning token: those are projected, not the T rows.
  With E the one-hot tokens, its scores are E (Q Kᵀ) Eᵀ plus one row of S × T numbers for the offsets, and what it
  writes is (att E)(V W_proj): no product there has d² numbers for each position.
- Matrices that always meet are multiplied first: W_Qᵀ W_K in the scores and W_proj W_V in what a head writes,
  and W_o with them where nothing stands between the last head and the output.
"""

from __future__ import annotations

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Int

from anyorder.transformer import Head, Transformer
from anyorder.transformer.arithmetic import unit
from anyorder.transformer.mlp import run_stack

#: Probabilities of models without a softmax are raised to this before their logarithm is taken.
SMALLEST = 1e-6


def covers(model: Transformer) -> bool:
    """Whether `log_probabilities` has a fast form for this model.

    >>> from anyorder.training.config import Config
    >>> from anyorder.training.initial import initial_model
    >>> covers(initial_model(Config(), jax.random.key(0)))
    True
    """
    heads = [head for layer in model.layers for head in layer.heads]
    return model.output_map == "softmax" and all(
        head.projection is not None and head.value_positions is None for head in heads
    )


def log_probabilities(model: Transformer, tokens: Int[Array, "length"]) -> Float[Array, "length symbols"]:
    """Logarithms of the next-token distributions after every position."""
    begins = model.beginning is not None
    embedding = model.embedding
    if model.beginning is not None:
        embedding = jnp.concatenate([embedding, model.beginning[None]])
        tokens = jnp.concatenate([jnp.asarray([model.alphabet_size], tokens.dtype), tokens])
    one_hot = jax.nn.one_hot(tokens, len(embedding), dtype=embedding.dtype)
    first, *others = model.layers
    read = embedding if first.attention_norm is None else first.attention_norm(embedding)
    x = one_hot @ embedding
    for head in first.heads:
        x = x + _first_layer(head, read, one_hot)
    x = run_stack(first.mlp, first.mlp_norm, x)[-1]
    output = model.embedding if model.output is None else model.output
    logits = jnp.zeros((len(tokens), len(output)), x.dtype)
    for layer in others:
        read = x if layer.attention_norm is None else layer.attention_norm(x)
        if layer is model.layers[-1] and not layer.mlp and model.final_norm is None:
            for head in layer.heads:
                logits = logits + _attend(head, read, output)
        else:
            for head in layer.heads:
                x = x + _attend(head, read, None)
            x = run_stack(layer.mlp, layer.mlp_norm, x)[-1]
    if model.final_norm is not None:
        x = model.final_norm(x)
    logits = logits + x @ output.T
    if model.output_bias is not None:
        logits = logits + model.output_bias
    return jax.nn.log_softmax(logits[1:] if begins else logits, axis=-1)


def _first_layer(
    head: Head, read: Float[Array, "distinct d"], one_hot: Float[Array, "rows distinct"]
) -> Float[Array, "rows d"]:
    """What a head of layer 1 writes, from the distinct vectors that the layer reads."""
    assert head.projection is not None
    queries, keys, values = read @ head.query.T, read @ head.key.T, read @ head.value.T @ head.projection.T
    if head.normalise:
        queries, keys = unit(queries), unit(keys)
    queries = queries * head.scale
    scores = one_hot @ (queries @ keys.T) @ one_hot.T
    if head.key_positions is not None:
        by_offset = toeplitz(queries @ head.key_positions.T, len(one_hot))  # [symbol, query, key]
        scores = scores + jnp.einsum("ns,sni->ni", one_hot, by_offset)
    return (_softmax(scores) @ one_hot) @ values


def toeplitz(by_offset: Float[Array, "distinct offsets"], rows: int) -> Float[Array, "distinct rows rows"]:
    """The matrices with entry (n, i) equal to that of offset n - i, zero beyond the offsets and above the diagonal.

    >>> toeplitz(jnp.asarray([[1.0, 2.0]]), 3)[0].tolist()
    [[1.0, 0.0, 0.0], [2.0, 1.0, 0.0], [0.0, 2.0, 1.0]]
    """
    offset = np.arange(rows)[:, None] - np.arange(rows)[None, :]
    offset = np.where((offset < 0) | (offset >= by_offset.shape[-1]), by_offset.shape[-1], offset)
    return jnp.pad(by_offset, ((0, 0), (0, 1)))[:, offset]


def _attend(
    head: Head, read: Float[Array, "rows d"], output: Float[Array, "symbols d"] | None
) -> Float[Array, "rows written"]:
    """What a head writes to the stream, or with `output` what that adds to the logits."""
    assert head.projection is not None
    width, d = head.query.shape
    fold = not head.normalise and 2 * width > d
    if fold:
        queries, keys = read @ (head.query.T @ head.key), read
    else:
        queries, keys = read @ head.query.T, read @ head.key.T
    if head.normalise:
        queries, keys = unit(queries), unit(keys)
    scores = queries @ keys.T
    if head.key_positions is not None:
        rows = len(read)
        by_offset = read @ (head.query.T @ head.key_positions.T) if fold else queries @ head.key_positions.T
        offset = np.minimum(np.arange(rows)[:, None] - np.arange(rows)[None, :], len(head.key_positions))
        padded = jnp.pad(by_offset, ((0, 0), (0, 1)))
        scores = scores + jnp.take_along_axis(padded, jnp.asarray(np.maximum(offset, 0), jnp.int32), axis=1)
    weights = _softmax(scores * head.scale)
    if output is not None:
        return weights @ (read @ (output @ head.projection @ head.value).T)
    if 2 * width > d:
        return weights @ (read @ (head.projection @ head.value).T)
    return weights @ (read @ head.value.T) @ head.projection.T


def _softmax(scores: Float[Array, "rows rows"]) -> Float[Array, "rows rows"]:
    causal = np.tri(len(scores), dtype=bool)
    return jax.nn.softmax(jnp.where(causal, scores, -jnp.inf), axis=-1)
