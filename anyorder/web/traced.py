"""A sequence, typed or drawn from a random chain, with the trace of a model on it, for views and stories."""

from __future__ import annotations

import dataclasses
import functools
from typing import TypeAlias

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Float, Int

from anyorder import estimators
from anyorder.chains import Source
from anyorder.chains.config import SourceConfig
from anyorder.errors import check_order
from anyorder.estimators.registry import find_estimator
from anyorder.io.tokens import numbered
from anyorder.models import Trace
from anyorder.web import limits
from anyorder.web.library import Opened
from anyorder.web.schema import Chain, Text

#: One distribution for every position.
Distributions: TypeAlias = Float[np.ndarray, "length symbols"]


@dataclasses.dataclass(frozen=True)
class NamedTokens:
    """A sequence with the names of its symbols; `truth[t]` is the distribution of token t, the outcome included."""

    tokens: Int[np.ndarray, "length"]
    symbols: list[str]
    outcome: int | None = None
    truth: Float[np.ndarray, "length_and_one symbols"] | None = None


def draw(asked: Text | Chain) -> NamedTokens:
    """The typed sequence, or one drawn from a random chain.

    >>> draw(Text(kind="text", text="abba")).tokens.tolist()
    [0, 1, 1, 0]
    """
    return _typed(asked.text) if isinstance(asked, Text) else _sampled(asked)


def _typed(text: str) -> NamedTokens:
    symbols = list(dict.fromkeys(text))
    limits.at_most(
        limits.MOST_SYMBOLS,
        len(symbols),
        "symbols",
        f"the text has {len(symbols)} different characters, at most {limits.MOST_SYMBOLS} are taken; shorten it",
    )
    return NamedTokens(numbered(text, "".join(symbols)), symbols)


def _sampled(asked: Chain) -> NamedTokens:
    limits.at_most(
        limits.MOST_KERNEL,
        asked.alphabet_size ** (asked.order + 1),
        "transitions",
        f"a chain of order {asked.order} over {asked.alphabet_size} symbols has more than {limits.MOST_KERNEL} "
        "transitions; lower the order or the alphabet size",
    )
    check_order(asked.order, asked.length)
    drawn = source(asked, asked.length + 1).sample(asked.seed, 1)
    tokens = np.asarray(drawn.tokens[0], np.int64)
    symbols = [str(symbol) for symbol in range(asked.alphabet_size)]
    return NamedTokens(tokens[:-1], symbols, int(tokens[-1]), np.asarray(drawn.truth[0], np.float64))


def source(asked: Chain, length: int) -> Source:
    """The source of a chain's sequence, with its outcome or padded."""
    return SourceConfig(**asked.model_dump(exclude={"kind", "length", "seed"})).source_of(length)


@dataclasses.dataclass(frozen=True)
class Traced:
    """A model on a sequence: the data of a view and its stories."""

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
        """Tokens of the sequence; the trace has the padded length."""
        return len(self.sequence.tokens)

    @property
    def padded(self) -> Int[jax.Array, "padded"]:
        """The tokens with zeros up to the length for which programs are compiled."""
        return jnp.asarray(np.pad(self.sequence.tokens, (0, limits.padded(self.length) - self.length)), jnp.int32)

    @property
    def begins(self) -> int:
        """1 if there is a row for a beginning token."""
        return int(self.opened.model.beginning is not None)

    @property
    def symbols(self) -> list[str]:
        """The names of all symbols of the model, also of those missing in the sequence."""
        named = self.sequence.symbols
        return named + [f"({number})" for number in range(len(named), self.alphabet_size)]

    @property
    def truth(self) -> Distributions | None:
        """The distribution of the token after every position, where it is known; zero where the chain has no symbol."""
        own = self.sequence.truth
        return None if own is None else np.pad(own[1:], ((0, 0), (0, self.alphabet_size - own.shape[1])))

    @property
    def predicted(self) -> Distributions:
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

    def estimate(self, name: str, beta: float | None = None) -> Distributions:
        """The predictions of a registered estimator after every position, at the order of the model."""
        order, size = self.opened.order, self.alphabet_size
        found = find_estimator(name).predict(self.padded, order=order, alphabet_size=size, beta=beta)
        return np.asarray(found.probabilities)[: self.length]

    @property
    def pseudo_attention(self) -> Float[np.ndarray, "rows rows"]:
        """Uniform attention on the matches, zero without any; includes the sink of weight β S if there is one."""
        begins, promise = self.begins, self.opened.model.certificate
        ideal = np.asarray(estimators.pseudo_attention(self.padded, self.opened.order))[: self.length, : self.length]
        ideal = np.pad(ideal, ((begins, 0), (begins, 0)))
        if promise is None or promise.estimator != "bayes":
            return ideal
        matched = (ideal > 0).sum(axis=1, keepdims=True)
        total = matched + self.opened.beta * self.alphabet_size
        ideal *= matched / total
        if begins:  # a recurrence has no sink token
            ideal[begins:, :1] = (1 - matched / total)[begins:]
        return ideal

    @property
    def nearest(self) -> tuple[int, int]:
        """The head to compare with pseudo-attention: the last one, or for a trained model the nearest."""
        if self.opened.construction is not None:
            return self.heads[-1]
        ideal = self.pseudo_attention
        return min(self.heads, key=lambda head: float(np.square(self.weights(*head) - ideal).sum()))

    @property
    def difference(self) -> Float[np.ndarray, "rows rows"]:
        """The nearest head minus pseudo-attention, NaN in rows where the window is new and there is no guarantee."""
        ideal = self.pseudo_attention
        return np.where(ideal.any(axis=1, keepdims=True), self.weights(*self.nearest) - ideal, np.nan)
