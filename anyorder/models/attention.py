"""Causal attention with relative key and value positions (Definition 3), in blocks of queries.

One head computes, at position n,

    sum_i att(n, i) (W_V x_i + p^V_{n-i}),   att(n, ·) = softmax over i ≤ n of <W_K x_i + p^K_{n-i}, W_Q x_n>

(the paper prints `W_Q x_i`; the query is that of position n, erratum E1). Offsets beyond the tables p are
zero vectors. The softmax is computed as numerator over denominator, (E V) / (E 1) with E = exp(score - max):
where all matching keys have equal scores, E is 0 or 1 and the numerators are counts, which are exact.
"""

from __future__ import annotations

from itertools import groupby
from typing import Protocol, runtime_checkable

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jax import lax
from jaxtyping import Array, Float, Int

from anyorder.errors import require
from anyorder.models.arithmetic import Weights, linear, quotient, stored, unit
from anyorder.models.hooks import Hook, plain

#: Queries handled at once. A sequence up to SINGLE_BLOCK positions is one block: plain dense code, no loop.
BLOCK = 128
SINGLE_BLOCK = 256
#: More heads of one shape than this run one after the other: each output is added to the stream and discarded.
MANY = 16

#: A contribution to the stream and, if they are kept, the attention weights.
Written = tuple[Float[Array, "rows d"], Float[Array, "rows rows"] | None]


class Head(eqx.Module):
    """One attention head; `projection` maps its output to the stream (None: values live in the stream).

    `scale` multiplies the score: a Python float is a constant of the model, an array is a parameter.
    With `normalise` queries and keys are divided by their length after their projection (App. A.2.2, B.2).
    With `positions_through_key` key positions are embeddings of the offset, d wide, that the key map projects.
    With `rotary` queries and keys are rotated by their position, `rotary` being the base of the wavelengths.
    """

    query: Float[Weights, "head d"]
    key: Float[Weights, "head d"]
    value: Float[Weights, "value d"]
    projection: Float[Weights, "d value"] | None = None
    key_positions: Float[Weights, "key_offsets _"] | None = None
    value_positions: Float[Weights, "value_offsets value"] | None = None
    scale: float | Float[Weights, ""] = 1.0
    normalise: bool = eqx.field(static=True, default=False)
    positions_through_key: bool = eqx.field(static=True, default=False)
    rotary: float | None = eqx.field(static=True, default=None)

    def __check_init__(self) -> None:
        d = self.query.shape[-1]
        written = (self.value if self.projection is None else self.projection).shape[-2]
        require(
            self.rotary is None or (self.key_positions is None and len(self.query) % 2 == 0),
            "a rotary head has no relative key positions; drop one of the two",
        )
        require(written == d, f"a head writes {written} coordinates to a stream of {d}; give it a projection")

    @property
    def offset_keys(self) -> Float[Weights, "key_offsets head"] | None:
        """p^K of every offset, which is added to the key."""
        if self.key_positions is None or not self.positions_through_key:
            return self.key_positions
        return linear(self.key_positions, self.key)

    def sides(
        self, x: Float[Array, "rows d"], hook: Hook = plain
    ) -> tuple[Float[Array, "rows head"], Float[Array, "rows head"]]:
        """The queries, times the scale, and the keys: their products are the scores without relative positions."""
        queries, keys = linear(x, self.query), linear(x, self.key)
        if self.normalise:
            queries, keys = unit(queries), unit(keys)
        if self.rotary is not None:
            queries, keys = rotated(queries, self.rotary), rotated(keys, self.rotary)
        return stored(hook("query", queries) * self.scale), hook("key", keys)

    def __call__(self, x: Float[Array, "rows d"], *, keep_weights: bool, hook: Hook = plain) -> Written:
        """The head's contribution to the stream, and its attention weights if they are to be kept."""
        x = hook("read", x)
        queries, keys = self.sides(x, hook)
        values = hook("value", linear(x, self.value))
        offset_keys = None if self.offset_keys is None else hook("key", jnp.asarray(self.offset_keys))
        mixed, weights = _in_blocks(self, queries, keys, offset_keys, values, keep_weights or hook is not plain)
        if hook is not plain and weights is not None:
            weights = hook("attention", weights)
            mixed = self._mixed(weights, values)
        written = mixed if self.projection is None else linear(hook("read", mixed), self.projection)
        return hook("written", written), weights

    def _mixed(
        self, weights: Float[Array, "rows rows"], values: Float[Array, "rows value"]
    ) -> Float[Array, "rows value"]:
        """The sum of values and value positions under these weights."""
        mixed = stored(weights @ values)
        if self.value_positions is None:
            return mixed
        rows, table = len(values), self.value_positions[: len(values)]
        return stored(mixed + stored(_keys_to_offsets(weights, jnp.int32(0), len(table), rows) @ table))


def rotated(x: Float[Array, "rows width"], base: float) -> Float[Array, "rows width"]:
    """Row n with its coordinates j and j + width/2 turned by the angle n · base^(-2j / width), j < width/2.

    Products of rotated queries and keys depend on their contents and their offset (RoPE).

    >>> rotated(jnp.asarray([[1.0, 0.0], [1.0, 0.0]]), 1.0).round(3).tolist()
    [[1.0, 0.0], [0.54, 0.841]]
    """
    rows, width = x.shape
    frequencies = base ** (-np.arange(0, width, 2) / width)
    angles = np.arange(rows)[:, None] * frequencies
    cosine, sine = jnp.asarray(np.cos(angles), x.dtype), jnp.asarray(np.sin(angles), x.dtype)
    left, right = x[:, : width // 2], x[:, width // 2 :]
    turned = (stored(left * cosine) - stored(right * sine), stored(left * sine) + stored(right * cosine))
    return stored(jnp.concatenate(turned, axis=1))


@runtime_checkable
class Mixer(Protocol):
    """A head of any kind, which reads one stream and writes to it: `Head`, `Mamba`, `Recurrence`, or a plug-in's."""

    def __call__(self, x: Float[Array, "rows d"], *, keep_weights: bool, hook: Hook = plain) -> Written:
        """The head's contribution to the stream and, if they are to be kept, its weights."""


def run_heads(
    heads: tuple[Mixer, ...],
    read: Float[Array, "rows d"],
    x: Float[Array, "rows d"],
    *,
    keep_weights: bool,
    hook: Hook = plain,
) -> tuple[Float[Array, "rows d"], Float[Array, "heads rows rows"] | None]:
    """The stream `x` plus the output of all heads of a layer, and their weights.

    Without a hook, consecutive heads of one shape are one program with one more axis.
    """

    def shape(head: Mixer) -> tuple:
        leaves, structure = jax.tree.flatten(head)
        return structure, *(leaf.shape if eqx.is_array(leaf) else leaf for leaf in leaves)

    found: list[Float[Array, "_ rows rows"] | None] = []
    for _, group in groupby(heads, shape):
        alike = list(group)
        if hook is plain and len(alike) > 1:
            x, weights = _run_alike(alike, read, x, keep_weights)
            found.append(weights)
        else:
            for head in alike:
                written, weights = head(read, keep_weights=keep_weights, hook=hook)
                x = stored(x + written)
                found.append(None if weights is None else weights[None])
    kept = [weights for weights in found if weights is not None]
    return x, jnp.concatenate(kept) if kept else None


def _run_alike(
    heads: list[Mixer], read: Float[Array, "rows d"], x: Float[Array, "rows d"], keep_weights: bool
) -> tuple[Float[Array, "rows d"], Float[Array, "heads rows rows"] | None]:
    """Run heads of one shape as one program."""
    stacked = jax.tree.map(lambda *leaves: jnp.stack(leaves), *(eqx.filter(head, eqx.is_array) for head in heads))
    rest = eqx.filter(heads[0], eqx.is_array, inverse=True)

    def run(arrays: Mixer) -> Written:
        return eqx.combine(arrays, rest)(read, keep_weights=keep_weights)

    def add(x: Float[Array, "rows d"], arrays: Mixer) -> Written:
        written, weights = run(arrays)
        return stored(x + written), weights

    if len(heads) > MANY:
        return lax.scan(add, x, stacked)
    written, weights = jax.vmap(run)(stacked)
    for output in written:
        x = stored(x + output)
    return x, weights


def _in_blocks(
    head: Head,
    queries: Float[Array, "rows head"],
    keys: Float[Array, "rows head"],
    offset_keys: Float[Weights, "key_offsets head"] | None,
    values: Float[Array, "rows value"],
    keep_weights: bool,
) -> tuple[Float[Array, "rows value"], Float[Array, "rows rows"] | None]:
    """Attend from all queries, in blocks if there are many, so that memory grows with rows, not rows²."""
    rows, width = queries.shape
    size = rows if rows <= SINGLE_BLOCK else BLOCK
    count = -(-rows // size)
    canvas = count * size
    summed = jnp.concatenate([values, jnp.ones((rows, 1), values.dtype)], axis=1)

    def block(start: Int[Array, ""], queries: Float[Array, "block head"]) -> tuple[Array, Array | None]:
        scores = stored(queries @ keys.T)
        if offset_keys is not None:
            by_offset = linear(queries, offset_keys[:rows])
            scores = stored(scores + _offsets_to_keys(by_offset, start, canvas)[:, :rows])
        positions = start + jnp.arange(size, dtype=jnp.int32)[:, None]
        scores = jnp.where(jnp.arange(rows, dtype=jnp.int32)[None, :] <= positions, scores, -jnp.inf)
        largest = lax.stop_gradient(jnp.max(scores, axis=1, keepdims=True))
        exponentials = stored(jnp.exp(stored(scores - largest)))
        sums = stored(exponentials @ summed)
        numerators, denominators = sums[:, :-1], sums[:, -1:]
        if head.value_positions is not None:
            table = head.value_positions[:rows]
            by_offset = _keys_to_offsets(exponentials, start, table.shape[0], canvas)
            numerators = stored(numerators + stored(by_offset @ table))
        weights = stored(exponentials / denominators) if keep_weights else None
        return quotient(numerators, denominators), weights

    if count == 1:
        return block(jnp.int32(0), queries)
    padded = jnp.pad(queries, ((0, canvas - rows), (0, 0))).reshape(count, size, width)
    starts = jnp.arange(count, dtype=jnp.int32) * size
    mixed, weights = lax.map(lambda item: block(*item), (starts, padded))
    mixed = mixed.reshape(canvas, -1)[:rows]
    return mixed, None if weights is None else weights.reshape(canvas, rows)[:rows]


def _offsets_to_keys(
    by_offset: Float[Array, "block offsets"], start: Int[Array, ""], canvas: int
) -> Float[Array, "block {canvas}"]:
    """Place the entry of query n and offset o at key n - o; zero elsewhere. Queries begin at `start`.

    Each reversed row is shifted one place further right than the row above it. This needs no gather: pad the rows by
    their number and reshape to rows that are shorter by one.
    """
    size, offsets = by_offset.shape
    band = jnp.pad(by_offset[:, ::-1], ((0, 0), (0, size))).reshape(-1)
    band = band[: size * (size + offsets - 1)].reshape(size, size + offsets - 1)
    placed = jnp.zeros((size, canvas + offsets - 1), by_offset.dtype)
    return lax.dynamic_update_slice(placed, band, (jnp.int32(0), start))[:, offsets - 1 :]


def _keys_to_offsets(
    by_key: Float[Array, "block rows"], start: Int[Array, ""], offsets: int, canvas: int
) -> Float[Array, "block {offsets}"]:
    """The inverse: entry of query n and key i at offset n - i, for the first `offsets` offsets."""
    size, rows = by_key.shape
    placed = jnp.pad(by_key, ((0, 0), (offsets - 1, canvas - rows)))
    band = lax.dynamic_slice(placed, (jnp.int32(0), start), (size, size + offsets - 1)).reshape(-1)
    return jnp.pad(band, (0, size)).reshape(size, size + offsets)[:, offsets - 1 :: -1]
