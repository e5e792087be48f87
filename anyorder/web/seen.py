"""Sequences, and models that have been run on them."""

from __future__ import annotations

import dataclasses
import math
from typing import Any

import equinox as eqx
import jax
import numpy as np
from jaxtyping import Float, Int

from anyorder import chains
from anyorder.errors import require
from anyorder.transformer import Trace
from anyorder.web import limits
from anyorder.web.models import Opened
from anyorder.web.schema import (
    Chain,
    Text,
)


@dataclasses.dataclass(frozen=True)
class Drawn:
    """A sequence with the names of its symbols; `truth[t]` is the distribution of token t, the outcome included."""

    tokens: Int[np.ndarray, "length"]
    symbols: list[str]
    outcome: int | None = None
    truth: Float[np.ndarray, "length_and_one symbols"] | None = None


@dataclasses.dataclass(frozen=True)
class Seen:
    """A model on a sequence: everything that a view and its stories are read from."""

    opened: Opened
    drawn: Drawn
    trace: Trace
    alphabet_size: int

    @property
    def size(self) -> int:
        """Bytes of the model and of its trace."""
        return sum(leaf.nbytes for leaf in jax.tree.leaves((self.opened.model, self.trace)) if eqx.is_array(leaf))

    @property
    def length(self) -> int:
        """Tokens of the sequence; the trace goes on to the padded length."""
        return len(self.drawn.tokens)

    @property
    def begins(self) -> int:
        """1 if there is a row for a beginning token."""
        return int(self.opened.model.beginning is not None)

    @property
    def symbols(self) -> list[str]:
        """The names of all symbols, also of those that the model has and the sequence has not."""
        named = self.drawn.symbols
        return named + [f"({number})" for number in range(len(named), self.alphabet_size)]


def draw(asked: Text | Chain) -> Drawn:
    """The sequence that was typed, or the one that a random chain gives.

    >>> draw(Text(kind="text", text="abba")).tokens.tolist()
    [0, 1, 1, 0]
    """
    if isinstance(asked, Text):
        symbols = list(dict.fromkeys(asked.text))
        limits.at_most(
            limits.MOST_SYMBOLS,
            len(symbols),
            "symbols",
            f"the text has {len(symbols)} different characters, at most {limits.MOST_SYMBOLS} are taken; shorten it",
        )
        numbers = {symbol: number for number, symbol in enumerate(symbols)}
        return Drawn(np.array([numbers[symbol] for symbol in asked.text], np.int64), symbols)
    limits.at_most(
        limits.MOST_KERNEL,
        asked.alphabet_size ** (asked.order + 1),
        "transitions",
        f"a chain of order {asked.order} over {asked.alphabet_size} symbols has more than {limits.MOST_KERNEL} "
        "transitions; lower the order or the alphabet size",
    )
    require(
        asked.length > asked.order,
        f"length is {asked.length}, must be above the order {asked.order} of the chain; lengthen the sequence",
    )
    require(
        not (asked.token_noise and asked.transition_noise),
        f"token noise {asked.token_noise} and transition noise {asked.transition_noise} together; set one to 0",
    )
    noise: Any = chains.TokenNoise(asked.token_noise) if asked.token_noise else None
    noise = chains.TransitionNoise(asked.transition_noise) if asked.transition_noise else noise
    drawn = chains.sample(
        jax.random.key(asked.seed),
        chains.Dirichlet(asked.order, asked.alphabet_size, asked.concentration),
        length=asked.length + 1,
        count=1,
        noise=noise,
    )
    tokens = np.asarray(drawn.tokens[0], np.int64)
    digits = "0123456789" if asked.alphabet_size <= 10 else None
    symbols = [digits[s] if digits else str(s) for s in range(asked.alphabet_size)]
    return Drawn(tokens[:-1], symbols, int(tokens[-1]), np.asarray(drawn.truth[0], np.float64))


def finite(value: float) -> float | None:
    """The number, or None where JSON has none.

    >>> finite(0.5), finite(math.inf)
    (0.5, None)
    """
    return value if math.isfinite(value) else None


def wide(rows: Float[np.ndarray, "length few"], size: int) -> Float[np.ndarray, "length symbols"]:
    """Distributions over a larger alphabet, zero where the chain has no symbol."""
    return np.pad(rows, ((0, 0), (0, size - rows.shape[1])))
