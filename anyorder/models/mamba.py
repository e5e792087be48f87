"""One head of a Mamba-2 layer: a linear recurrence whose decay depends on the token, behind a short convolution.

With c = SiLU(convolution of W x) split into query C, key B and value X, step Δ_n = softplus(w x_n + b) and decay
a_n = exp(-Δ_n exp(α)), the head keeps a table and reads from it

    H_n = a_n H_{n-1} + Δ_n B_n ⊗ X_n,   Y_n = C_n H_n + s X_n,

and writes W_P RMS(Y ⊙ SiLU(W_Z x)). Over a whole sequence Y = M X + s X with M = L ∘ C (Δ B)ᵀ and
L_ni = a_{i+1} ⋯ a_n: the quadratic form that training uses (Dao and Gu, 2024; every head is its own group).
"""

from __future__ import annotations

from typing import NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
from jax import lax
from jaxtyping import Array, Float

from anyorder.models.arithmetic import convolve, linear, quotient, stored, total
from anyorder.models.attention import BLOCK, SINGLE_BLOCK, Written
from anyorder.models.hooks import Hook, plain
from anyorder.models.mlp import EPSILON


class MambaState(NamedTuple):
    """The constant-size memory of a head: the last rows, for its convolution, and the table."""

    recent: Float[Array, "before channels"]
    table: Float[Array, "state value"]


class Mamba(eqx.Module):
    """One head; `decay` is α, None fixes a_n = 1: linear attention.

    >>> one, zero = jnp.ones((1, 1)), jnp.zeros(1)
    >>> head = Mamba(one, one, one, one, one, jnp.ones((1, 3)), jnp.zeros(3), zero, zero[0], zero[0], one[0])
    >>> head(jnp.ones((4, 1)), keep_weights=True)[1][-1].tolist()  # no decay: all rows count alike
    [0.25, 0.25, 0.25, 0.25]
    """

    query: Float[Array, "state d"]
    key: Float[Array, "state d"]
    value: Float[Array, "value d"]
    gate: Float[Array, "value d"]
    projection: Float[Array, "d value"]
    taps: Float[Array, "taps channels"]
    taps_bias: Float[Array, "channels"]
    step: Float[Array, "d"]
    step_bias: Float[Array, ""]
    skip: Float[Array, ""]
    gain: Float[Array, "value"]
    decay: Float[Array, ""] | None = None

    @property
    def start(self) -> MambaState:
        """The state before the first row."""
        before, channels = len(self.taps) - 1, self.taps.shape[1]
        table = jnp.zeros((len(self.key), len(self.value)), self.key.dtype)
        return MambaState(jnp.zeros((before, channels), self.key.dtype), table)

    def _sides(self, state: MambaState, x: Float[Array, "rows d"], hook: Hook) -> tuple[Array, ...]:
        """Queries, keys times their step, values, logarithms of the decays, and the rows for the next convolution."""
        rows = jnp.concatenate([linear(x, weight) for weight in (self.query, self.key, self.value)], axis=1)
        rows = jnp.concatenate([state.recent, rows])
        mixed = stored(convolve(self.taps, rows)[len(state.recent) :] + self.taps_bias)
        queries, keys, values = jnp.split(stored(jax.nn.silu(mixed)), [len(self.query), 2 * len(self.key)], axis=1)
        steps = stored(jax.nn.softplus(linear(x, self.step[None], self.step_bias[None])))
        keys = hook("key", stored(keys * steps))
        logs = jnp.zeros_like(steps) if self.decay is None else stored(-steps * stored(jnp.exp(self.decay)))
        return hook("query", queries), keys, hook("value", values), logs[:, 0], rows[len(rows) - len(state.recent) :]

    def _run(
        self, state: MambaState, x: Float[Array, "rows d"], hook: Hook = plain
    ) -> tuple[MambaState, Float[Array, "rows value"], Float[Array, "rows rows"]]:
        """The state after some rows, their readouts, gated and normalised, and their mixing matrix M."""
        queries, keys, values, logs, recent = self._sides(state, x, hook)
        along = jnp.cumsum(logs)
        causal = jnp.tri(len(x), dtype=bool)
        decays = jnp.exp(jnp.where(causal, along[:, None] - along[None, :], -jnp.inf))
        matrix = stored(stored(queries @ keys.T) * stored(decays))
        earlier = stored(stored(jnp.exp(along))[:, None] * stored(queries @ state.table))
        read = stored(stored(stored(matrix @ values) + earlier) + stored(self.skip * values))
        left = stored(keys * stored(jnp.exp(along[-1] - along))[:, None])
        table = stored(stored(state.table * stored(jnp.exp(along[-1]))) + stored(left.T @ values))
        gated = stored(read * stored(jax.nn.silu(linear(x, self.gate))))
        mean = stored(total(stored(gated * gated)) / len(self.gain))
        normed = stored(quotient(gated, stored(jnp.sqrt(stored(mean + EPSILON)))) * self.gain)
        return MambaState(recent, table), normed, matrix

    def mixing(self, x: Float[Array, "rows d"]) -> Float[Array, "rows rows"]:
        """The mixing matrix M of the quadratic form, with its signs."""
        return self._run(self.start, x)[2]

    def advance(self, state: MambaState, x: Float[Array, "rows d"]) -> tuple[MambaState, Float[Array, "rows value"]]:
        """The state after some rows, and the readout of each, gated and normalised."""
        return self._run(state, x)[:2]

    def write(self, read: Float[Array, "rows value"]) -> Float[Array, "rows d"]:
        """The head's contribution to the stream."""
        return linear(read, self.projection)

    def __call__(self, x: Float[Array, "rows d"], *, keep_weights: bool, hook: Hook = plain) -> Written:
        """The head's contribution to the stream and, on request, |M| with rows of sum one."""
        x = hook("read", x)
        rows, width = x.shape
        if keep_weights or hook is not plain or rows <= SINGLE_BLOCK:
            _, read, matrix = self._run(self.start, x, hook)
        else:
            blocks = -(-rows // BLOCK)
            padded = jnp.pad(x, ((0, blocks * BLOCK - rows), (0, 0))).reshape(blocks, BLOCK, width)
            _, found = lax.scan(lambda state, x: self.advance(state, x), self.start, padded)
            read = found.reshape(blocks * BLOCK, -1)[:rows]
        written = hook("written", self.write(hook("read", read)))
        return written, shares(matrix) if keep_weights else None


def shares(matrix: Float[Array, "rows rows"]) -> Float[Array, "rows rows"]:
    """The share of every row in the readout of each row: absolute values, divided by their sum unless it is zero.

    >>> shares(jnp.asarray([[0.0, 0.0], [-1.0, 3.0]])).tolist()
    [[0.0, 0.0], [0.25, 0.75]]
    """
    sizes = jnp.abs(matrix)
    sums = total(sizes)
    return quotient(sizes, jnp.where(sums > 0, sums, jnp.ones_like(sums)))
