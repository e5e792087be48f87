"""What a view and its stories are read from: a model on a sequence, and the look at one position of it."""

from __future__ import annotations

import dataclasses
import functools

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Float, Int

from anyorder import estimators
from anyorder.estimators.registry import find_estimator
from anyorder.transformer import Trace, Transformer
from anyorder.web import limits
from anyorder.web.models import Opened
from anyorder.web.sequence import NamedTokens


@dataclasses.dataclass(frozen=True)
class Traced:
    """A model on a sequence: everything that a view and its stories are read from."""

    opened: Opened
    sequence: NamedTokens
    trace: Trace

    @functools.cached_property
    def size(self) -> int:
        """Bytes of the model and of its trace."""
        return sum(leaf.nbytes for leaf in jax.tree.leaves((self.opened.model, self.trace)) if eqx.is_array(leaf))

    @property
    def alphabet_size(self) -> int:
        """S of the model."""
        return self.opened.model.alphabet_size

    @property
    def length(self) -> int:
        """Tokens of the sequence; the trace goes on to the padded length."""
        return len(self.sequence.tokens)

    @property
    def padded(self) -> Int[jax.Array, "padded"]:
        """The tokens with zeros up to the length that programs are compiled for."""
        return jnp.asarray(np.pad(self.sequence.tokens, (0, limits.padded(self.length) - self.length)), jnp.int32)

    @property
    def begins(self) -> int:
        """1 if there is a row for a beginning token."""
        return int(self.opened.model.beginning is not None)

    @property
    def symbols(self) -> list[str]:
        """The names of all symbols, also of those that the model has and the sequence has not."""
        named = self.sequence.symbols
        return named + [f"({number})" for number in range(len(named), self.alphabet_size)]

    @property
    def truth(self) -> Float[np.ndarray, "length symbols"] | None:
        """The distribution of the token after every position, where it is known; zero where the chain has no symbol."""
        own = self.sequence.truth
        return None if own is None else np.pad(own[1:], ((0, 0), (0, self.alphabet_size - own.shape[1])))

    @property
    def predicted(self) -> Float[np.ndarray, "length symbols"]:
        """The next-token distribution of the model after every position."""
        return np.asarray(self.trace.probabilities, np.float64)[: self.length]

    @property
    def heads(self) -> list[tuple[int, int]]:
        """Every head as (layer, head), both from 1."""
        layers = enumerate(self.opened.model.layers, start=1)
        return [(number, head) for number, layer in layers for head in range(1, len(layer.heads) + 1)]

    def weights(self, layer: int, head: int) -> Float[np.ndarray, "rows rows"]:
        """The attention weights of one head, counted from 1."""
        rows = self.length + self.begins
        return np.asarray(self.trace.attention[layer - 1][head - 1, :rows, :rows], np.float64)

    def estimate(self, name: str, beta: float | None = None) -> Float[np.ndarray, "length symbols"]:
        """What an estimator of the registry predicts after every position, with the order of the model."""
        order, size = self.opened.order, self.alphabet_size
        found = find_estimator(name).predict(self.padded, order=order, alphabet_size=size, beta=beta)
        return np.asarray(found.probabilities)[: self.length]

    @property
    def pseudo_attention(self) -> Float[np.ndarray, "rows rows"]:
        """Uniform attention on the matches, zero without any; with the sink of weight β S where there is one."""
        begins, promise = self.begins, self.opened.model.certificate
        ideal = np.asarray(estimators.pseudo_attention(self.padded, self.opened.order))[: self.length, : self.length]
        ideal = np.pad(ideal, ((begins, 0), (begins, 0)))
        if promise is None or promise.estimator != "bayes":
            return ideal
        matched = (ideal > 0).sum(axis=1, keepdims=True)
        total = matched + self.opened.beta * self.alphabet_size
        ideal *= matched / total
        ideal[begins:, :1] = (1 - matched / total)[begins:]
        return ideal

    @property
    def nearest(self) -> tuple[int, int]:
        """The head next to pseudo-attention: the last one, or of a trained model the nearest."""
        if self.opened.construction is not None:
            return self.heads[-1]
        ideal = self.pseudo_attention
        return min(self.heads, key=lambda head: float(np.square(self.weights(*head) - ideal).sum()))

    @property
    def difference(self) -> Float[np.ndarray, "rows rows"]:
        """The nearest head minus pseudo-attention, NaN in rows where a window is new and nothing is promised."""
        ideal = self.pseudo_attention
        return np.where(ideal.any(axis=1, keepdims=True), self.weights(*self.nearest) - ideal, np.nan)


@dataclasses.dataclass(frozen=True)
class TracedPosition:
    """A trace at one position n, with the positions that match it; `row` is one later with a beginning token."""

    traced: Traced
    model: Transformer
    order: int
    position: int
    row: int
    matches: list[int]

    def name(self, position: int) -> str:
        """The token at a position, as the page writes it."""
        return self.traced.symbols[self.traced.sequence.tokens[position]] if position >= 0 else "⊢"

    def word(self, first: int, last: int) -> str:
        """The tokens from one position to another."""
        return " ".join(self.name(position) for position in range(max(first, 0), last + 1))

    def block(self, name: str, point: str) -> Float[np.ndarray, "width"]:
        """One named block of the stream at n."""
        return np.asarray(self.traced.trace.block(name, point), np.float64)[self.row]
