"""Run models of recurrences (`Recurrence`, `Mamba`) token by token in constant memory: `begin`, then `step`."""

from __future__ import annotations

from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Int

from anyorder.errors import require
from anyorder.models.arithmetic import convolve, stored
from anyorder.models.mlp import run_stack
from anyorder.models.model import Layer, Transformer, predict


class Memory(eqx.Module):
    """The streaming state of a layer: the last rows, for its convolution, and the state of every head."""

    recent: Float[Array, "before d"]
    heads: tuple[Any, ...]

    @property
    def size(self) -> int:
        """The number of stored numbers."""
        return sum(part.size for part in jax.tree.leaves(self))


State = tuple[Memory, ...]


def begin(model: Transformer) -> State:
    """The state before the first token; models with attention or positions have no state of constant size.

    >>> from anyorder.constructions import construct
    >>> state = begin(construct("recurrent", order=2, alphabet_size=2, length=64))
    >>> sum(memory.size for memory in state)  # 2 rows of 8, and a table of 4 contexts by 2 symbols
    24
    """
    constant = all(hasattr(head, "advance") for layer in model.layers for head in layer.heads)
    require(
        constant and model.positions is None and model.beginning is None,
        "only models of recurrences run in constant memory, and this one has attention, positions or a beginning "
        "token; call it on the whole sequence",
    )

    def memory(layer: Layer) -> Memory:
        before = 0 if layer.convolution is None else len(layer.convolution) - 1
        return Memory(jnp.zeros((before, model.dimension), model.dtype), tuple(head.start for head in layer.heads))

    return tuple(map(memory, model.layers))


@eqx.filter_jit
def step(model: Transformer, state: State, token: int | Int[Array, ""]) -> tuple[State, Float[Array, "symbols"]]:
    """The state after one more token, and the distribution of the next one.

    >>> from anyorder.constructions import construct
    >>> model = construct("recurrent", order=1, alphabet_size=2, length=64)
    >>> state = begin(model)
    >>> for token in (0, 1, 0):
    ...     state, following = step(model, state, token)
    >>> following.tolist()  # 0 was followed by 1
    [0.0, 1.0]
    """
    x, after = model.embedding[jnp.asarray(token)][None], []
    for layer, memory in zip(model.layers, state, strict=True):
        read = x if layer.attention_norm is None else layer.attention_norm(x)
        recent = jnp.concatenate([memory.recent, read])
        if layer.convolution is not None:
            read = convolve(layer.convolution, recent)[-1:]
        advanced = [head.advance(kept, read) for head, kept in zip(layer.heads, memory.heads, strict=True)]
        for head, (_, found) in zip(layer.heads, advanced, strict=True):
            x = stored(x + head.write(found))
        x = run_stack(layer.mlp, layer.mlp_norm, x)[-1]
        after.append(Memory(recent[1:], tuple(kept for kept, _ in advanced)))
    return tuple(after), predict(model, x)[1][0]
