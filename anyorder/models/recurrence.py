"""A head with a table instead of all keys: linear attention with decay one, followed by a division.

At row n the table is H_n = H_{n-1} + φ(W_K x_n + b) ⊗ W_V x_n with φ = ReLU. The readout φ(W_Q x_n + b) H_n is
divided by its sum: with one-hot features and values, counts become frequencies.
"""

from __future__ import annotations

import equinox as eqx
import jax
import jax.numpy as jnp
from jax import lax
from jaxtyping import Array, Float

from anyorder.models.arithmetic import Weights, linear, quotient, stored, total
from anyorder.models.attention import BLOCK, SINGLE_BLOCK, Written
from anyorder.models.hooks import Hook, plain


class Recurrence(eqx.Module):
    """A head with a table; `projection` maps its output to the stream, `initial` is the table before the first row.

    >>> one = jnp.eye(2, dtype=jnp.float32)
    >>> head = Recurrence(one, one, jnp.zeros(2, jnp.float32), value=one, projection=one)
    >>> head(jnp.asarray([[1.0, 0.0], [0.0, 1.0], [1.0, 0.0]], jnp.float32), keep_weights=True)[1].tolist()
    [[1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.5, 0.0, 0.5]]
    """

    query: Float[Weights, "features d"]
    key: Float[Weights, "features d"]
    bias: Float[Weights, "features"]
    value: Float[Weights, "value d"]
    projection: Float[Weights, "d value"]
    initial: Float[Weights, "features value"] | None = None

    @property
    def start(self) -> Float[Array, "features value"]:
        """The table before the first row."""
        zero = jnp.zeros((len(self.key), len(self.value)), self.key.dtype)
        return zero if self.initial is None else jnp.asarray(self.initial)

    def sides(self, x: Float[Array, "rows d"]) -> tuple[Float[Array, "rows features"], Float[Array, "rows features"]]:
        """The query and the key features of each row."""
        read, written = (jax.nn.relu(linear(x, weight, self.bias)) for weight in (self.query, self.key))
        return read, written

    def advance(
        self, table: Float[Array, "features value"], x: Float[Array, "rows d"]
    ) -> tuple[Float[Array, "features value"], Float[Array, "rows value"]]:
        """The table after some rows, and the readout of each, before the division."""
        queries, keys = self.sides(x)
        values = linear(x, self.value)
        within = stored(stored(jnp.tril(queries @ keys.T)) @ values)
        return stored(table + stored(keys.T @ values)), stored(within + stored(queries @ table))

    def write(self, read: Float[Array, "rows value"]) -> Float[Array, "rows d"]:
        """The head's contribution to the stream: its readout, divided by its sum."""
        return linear(quotient(read, _divisor(read)), self.projection)

    def __call__(self, x: Float[Array, "rows d"], *, keep_weights: bool, hook: Hook = plain) -> Written:
        """The head's contribution to the stream and, on request, its weights.

        A hook receives the head's input and its output.
        """
        x, (rows, width) = hook("read", x), x.shape
        size = rows if rows <= SINGLE_BLOCK else BLOCK
        blocks = -(-rows // size)
        padded = jnp.pad(x, ((0, blocks * size - rows), (0, 0))).reshape(blocks, size, width)
        _, read = lax.scan(lambda table, x: self.advance(table, x), self.start, padded)
        read = read.reshape(blocks * size, -1)[:rows]
        weights = None
        if keep_weights:
            queries, keys = self.sides(x)
            weights = quotient(stored(jnp.tril(queries @ keys.T)), _divisor(read))
        return hook("written", self.write(read)), weights


def _divisor(read: Float[Array, "rows value"]) -> Float[Array, "rows 1"]:
    """The sum of every row, or one for rows of zeros, so that zero stays zero."""
    sums = total(read)
    return jnp.where(sums > 0, sums, jnp.ones_like(sums))
