"""The forward pass of a training step with dropout, where GPT-2 has it; measured models have none."""

from __future__ import annotations

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Int, PRNGKeyArray

from anyorder.models import Transformer
from anyorder.models.arithmetic import linear
from anyorder.models.mlp import run_stack


def log_probabilities(
    model: Transformer, tokens: Int[Array, "length"], *, amount: float | Float[Array, ""], key: PRNGKeyArray
) -> Float[Array, "length symbols"]:
    """Logarithms of the predictions with a part of the numbers set to zero and the others scaled up.

    Dropped are embeddings, attention weights, and what attention and MLP add to the stream.
    """
    places = iter(range(1 << 20))

    def drop(values: Float[Array, "*shape"]) -> Float[Array, "*shape"]:
        kept = 1 - jnp.asarray(amount, values.dtype)
        chosen = jax.random.bernoulli(jax.random.fold_in(key, next(places)), kept, values.shape)
        return jnp.where(chosen, values / kept, jnp.zeros_like(values))

    x = model.embedding[tokens]
    if model.positions is not None:
        x = x + model.positions[: len(x)]
    if model.beginning is not None:
        x = jnp.concatenate([model.beginning[None], x])
    x = drop(x)
    for layer in model.layers:
        read = x if layer.attention_norm is None else layer.attention_norm(x)
        for head in layer.heads:
            _, weights = head(read, keep_weights=True)
            assert weights is not None
            assert head.value_positions is None
            mixed = drop(weights) @ linear(read, head.value)
            x = x + drop(mixed if head.projection is None else linear(mixed, head.projection))
        if layer.mlp:
            x = x + drop(run_stack(layer.mlp, layer.mlp_norm, x)[-1] - x)
    x = x if model.final_norm is None else model.final_norm(x)
    logits = linear(x, model.embedding if model.output is None else model.output)
    logits = logits if model.output_bias is None else logits + model.output_bias
    return jax.nn.log_softmax(logits[-len(tokens) :], axis=-1)
