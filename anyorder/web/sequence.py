"""Sequences with names for their symbols: what was typed, or a random chain with its outcome and its truth."""

from __future__ import annotations

import dataclasses

import jax
import numpy as np
from jaxtyping import Float, Int

from anyorder import chains
from anyorder.errors import require
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
    require(
        not (asked.token_noise and asked.transition_noise),
        f"token noise {asked.token_noise} and transition noise {asked.transition_noise} together; set one to 0",
    )
    noise: chains.TokenNoise | chains.TransitionNoise | None = None
    if asked.token_noise:
        noise = chains.TokenNoise(asked.token_noise)
    elif asked.transition_noise:
        noise = chains.TransitionNoise(asked.transition_noise)
    drawn = chains.sample(
        jax.random.key(asked.seed),
        chains.Dirichlet(asked.order, asked.alphabet_size, asked.concentration),
        length=asked.length + 1,
        count=1,
        noise=noise,
    )
    tokens = np.asarray(drawn.tokens[0], np.int64)
    symbols = [str(symbol) for symbol in range(asked.alphabet_size)]
    return NamedTokens(tokens[:-1], symbols, int(tokens[-1]), np.asarray(drawn.truth[0], np.float64))
