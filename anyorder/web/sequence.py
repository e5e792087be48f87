"""Sequences with names for their symbols: what was typed, or a random chain with its outcome and its truth."""

from __future__ import annotations

import dataclasses

import numpy as np
from jaxtyping import Float, Int

from anyorder.chains import Source
from anyorder.errors import require
from anyorder.source_config import SourceConfig
from anyorder.web import limits
from anyorder.web.schema import Chain, Text


@dataclasses.dataclass(frozen=True)
class NamedTokens:
    """A sequence with the names of its symbols; `truth[t]` is the distribution of token t, the outcome included."""

    tokens: Int[np.ndarray, "length"]
    symbols: list[str]
    outcome: int | None = None
    truth: Float[np.ndarray, "length_and_one symbols"] | None = None


def draw(asked: Text | Chain) -> NamedTokens:
    """The sequence that was typed, or the one that a random chain gives.

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
    numbers = {symbol: number for number, symbol in enumerate(symbols)}
    return NamedTokens(np.array([numbers[symbol] for symbol in text], np.int64), symbols)


def _sampled(asked: Chain) -> NamedTokens:
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
    drawn = source(asked, asked.length + 1).sample(asked.seed, 1)
    tokens = np.asarray(drawn.tokens[0], np.int64)
    symbols = [str(symbol) for symbol in range(asked.alphabet_size)]
    return NamedTokens(tokens[:-1], symbols, int(tokens[-1]), np.asarray(drawn.truth[0], np.float64))


def source(asked: Chain, length: int) -> Source:
    """Where the sequence of a chain comes from, with its outcome or padded."""
    return SourceConfig(**asked.model_dump(exclude={"kind", "length", "seed"})).source_of(length)
