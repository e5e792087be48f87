"""Estimators for sequences of any length: feed tokens in chunks, get predictions, keep only the counts.

Memory grows with the number of distinct contexts that occur (and over large alphabets with the distinct
context-symbol pairs), not with S^k and not with the length; of the tokens only the last k are kept.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
from jaxtyping import Float64

from anyorder.errors import require
from anyorder.estimators.registry import Estimator, find_estimator
from anyorder.io.gates import gated
from anyorder.io.tokens import check_tokens

if TYPE_CHECKING:
    from anyorder.estimators.counters import Counter

_LONGEST_STREAM = (1 << 32) - 1  # counts have 32 bits
_SLICE = 1 << 14  # tokens given to the compiled loop at a time


class CountedStream:
    """A stream of tokens in chunks, of one sequence or of several, with its counter."""

    def __init__(self, counter: Counter, alphabet_size: int) -> None:
        self.order, self.alphabet_size = counter.order, alphabet_size
        self._counter = counter
        self._seen = 0
        self.begin_sequence()

    def begin_sequence(self) -> None:
        """Begin another sequence with the next token: counts are kept, and no context crosses this point.

        >>> stream = StreamingEstimator(order=1, alphabet_size=2)
        >>> _ = stream.probabilities([0, 1, 0])
        >>> stream.begin_sequence()
        >>> stream.probabilities([0, 1]).tolist()  # the pair 0, 0 is not counted
        [nan, 1.0]
        """
        self._begun = self._seen
        self._tail = np.full(self.order, self._counter.filler, self._counter.dtype)

    @property
    def seen(self) -> int:
        """Tokens fed so far."""
        return self._seen

    @property
    def contexts(self) -> int:
        """Distinct contexts stored: of every order if all are counted; for `backoff`, nodes of its compressed tree."""
        return self._counter.contexts

    @property
    def nbytes(self) -> int:
        """Bytes of the counts in memory."""
        return self._counter.nbytes + self._tail.nbytes

    def _checked(self, tokens: Sequence[int] | np.ndarray) -> np.ndarray:
        require(
            not isinstance(tokens, str),
            "the chunk is a string; number its characters first: anyorder.io.tokens.spelled(text, alphabet)",
        )
        masked = isinstance(tokens, np.ma.MaskedArray)
        require(not masked, "the chunk is a masked array; drop the masked entries, or give its .data")
        chunk = np.asarray(tokens)
        require(
            chunk.ndim == 1,
            f"the chunk has shape {chunk.shape}, must be one sequence (length,); feed one row",
        )
        if chunk.size:
            require(
                chunk.dtype.kind in "iub",
                f"the chunk contains {chunk.dtype} values, tokens are integers; convert it",
            )
            where = f"the chunk that begins at position {self._seen}" if self._seen else "the sequence"
            check_tokens(chunk, self.alphabet_size, where)
        require(
            self._seen + chunk.size <= _LONGEST_STREAM,
            f"the stream would have {self._seen + chunk.size} tokens, must be at most {_LONGEST_STREAM}; "
            "begin a new estimator",
        )
        return chunk

    def _feed(
        self, tokens: Sequence[int] | np.ndarray, *, chances: bool = False, distributions: bool = False
    ) -> tuple[Float64[np.ndarray, "_"], Float64[np.ndarray, "_ symbols"]]:
        """Count a chunk; return the probability of each token or the distribution after it, as requested."""
        chunk = self._checked(tokens)
        given = np.full(chunk.size * chances, np.nan)
        after = np.full((chunk.size * distributions, self.alphabet_size), np.nan)
        for begin in range(0, chunk.size, _SLICE):
            part = slice(begin, begin + _SLICE)
            stream = np.append(self._tail, chunk[part].astype(self._tail.dtype))
            self._counter.feed(stream, self._seen - self._begun, given[part], after[part])
            self._tail = stream[stream.size - self.order :].copy()
            self._seen += stream.size - self.order
        return given, after


class StreamingEstimator(CountedStream):
    """Count the contexts of a stream and predict its next token.

    `estimator` is an entry of the registry or its name: `kgram`, `bayes` (add-β), `bag`, `biased`, `backoff`, `mixture`
    (of all orders up to this one) or `ctw` (of this depth). Results do not depend on the sizes of the chunks.
    Undefined predictions are NaN.

    >>> stream = StreamingEstimator(order=1, alphabet_size=2)
    >>> stream.probabilities([0, 1, 0, 1]).tolist()
    [nan, nan, nan, 1.0]
    >>> stream.distributions([1, 0]).tolist()
    [[0.5, 0.5], [0.0, 1.0]]
    >>> stream.seen, stream.contexts
    (6, 2)
    >>> StreamingEstimator(order=1, alphabet_size=1)
    Traceback (most recent call last):
    anyorder.errors.InputError: alphabet size is 1, must be at least 2; pass `alphabet_size=2` or more
    """

    @gated
    def __init__(
        self, order: int, alphabet_size: int, estimator: str | Estimator = "kgram", *, beta: float | None = None
    ) -> None:
        found = find_estimator(estimator)
        super().__init__(found.counter(order, alphabet_size, beta), alphabet_size)
        self.estimator = found.name

    def distributions(self, tokens: Sequence[int] | np.ndarray) -> Float64[np.ndarray, "chunk symbols"]:
        """Feed a chunk; row j is the distribution of the token after the chunk's token j."""
        return self._feed(tokens, distributions=True)[1]

    def probabilities(self, tokens: Sequence[int] | np.ndarray) -> Float64[np.ndarray, "chunk"]:
        """Feed a chunk; element j is the predicted probability of its token j."""
        return self._feed(tokens, chances=True)[0]

    def feed(
        self, tokens: Sequence[int] | np.ndarray
    ) -> tuple[Float64[np.ndarray, "chunk"], Float64[np.ndarray, "chunk symbols"]]:
        """Feed a chunk; return both the predicted probability of each token and the distribution after it."""
        return self._feed(tokens, chances=True, distributions=True)

    def step(self, token: int) -> tuple[float, Float64[np.ndarray, "symbols"]]:
        """Feed one token; return its predicted probability and the distribution after it."""
        chances, distributions = self.feed([token])
        return float(chances[0]), distributions[0]

    @property
    def posterior(self) -> Float64[np.ndarray, "orders"] | None:
        """Weight of every order in the next prediction, for `mixture` and `ctw` after k tokens; otherwise None."""
        return self._counter.posterior(self._tail) if self._seen - self._begun >= self.order else None
