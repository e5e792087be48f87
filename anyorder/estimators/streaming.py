"""Estimators for sequences of any length: feed tokens in chunks, get predictions, keep only the counts.

Memory grows with the number of distinct contexts that occur (and over large alphabets with the distinct
context-symbol pairs), not with S^k and not with the length; of the tokens only the last k are kept.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from jaxtyping import Float64
from numpy.lib.stride_tricks import sliding_window_view

from anyorder.errors import check_order, require
from anyorder.estimators.hashing import INDEX, ROWS, count_contexts, count_suffixes, rehash, window_keys
from anyorder.tokens import check_tokens

ESTIMATORS = ("kgram", "bayes", "bag", "biased", "backoff")
_LARGEST_ALPHABET = 1 << 16
_LONGEST_STREAM = (1 << 32) - 1  # counts have 32 bits
_DENSE_SYMBOLS = 15  # up to here a context has a count of every symbol, at first of 63 // 15 = 4 bits or more
_KEY_BITS = 63  # a context that fits is its own key; a longer one is hashed
_HASH_BASE = 0x2545F4914F6CDD1D
_SLICE = 1 << 14  # tokens given to the compiled loop at a time


class StreamingEstimator:
    """Count the contexts of a stream and predict its next token.

    `estimator` is `kgram`, `bayes` (add-β), `bag`, `biased` or `backoff`. The sizes of the chunks make no
    difference to any number. Predictions that are undefined are NaN.

    >>> stream = StreamingEstimator(order=1, alphabet_size=2)
    >>> stream.probabilities([0, 1, 0, 1]).tolist()
    [nan, nan, nan, 1.0]
    >>> stream.distributions([1, 0]).tolist()
    [[0.5, 0.5], [0.0, 1.0]]
    >>> stream.seen, stream.contexts
    (6, 2)
    """

    def __init__(self, order: int, alphabet_size: int, estimator: str = "kgram", *, beta: float = 1.0) -> None:
        check_order(order)
        require(
            2 <= alphabet_size <= _LARGEST_ALPHABET,
            f"alphabet size is {alphabet_size}, must be 2 to {_LARGEST_ALPHABET}; renumber the tokens",
        )
        require(
            estimator in ESTIMATORS,
            f"estimator is {estimator!r}, must be one of {', '.join(ESTIMATORS)}; choose one of these",
        )
        require(0 < beta < np.inf, f"beta is {beta}, must be positive and finite; 1 is usual")
        self.order, self.alphabet_size, self.estimator = order, alphabet_size, estimator
        self._counter: _Contexts | _Suffixes
        if estimator == "backoff":
            self._counter = _Suffixes(order, alphabet_size)
        else:
            smoothing = beta if estimator == "bayes" else 0.0
            self._counter = _Contexts(order, alphabet_size, smoothing, bag=estimator == "bag")
        self._tail = np.full(order, self._counter.filler, self._counter.dtype)
        self._seen = 0

    def distributions(self, tokens: Sequence[int] | np.ndarray) -> Float64[np.ndarray, "chunk symbols"]:
        """Feed a chunk; row j is the distribution of the token after the chunk's token j."""
        chunk = self._checked(tokens)
        distributions = np.full((chunk.size, self.alphabet_size), np.nan)
        self._feed(chunk, np.empty(0), distributions)
        return distributions

    def probabilities(self, tokens: Sequence[int] | np.ndarray) -> Float64[np.ndarray, "chunk"]:
        """Feed a chunk; element j is the probability that its token j was given just before it came."""
        chunk = self._checked(tokens)
        chances = np.full(chunk.size, np.nan)
        self._feed(chunk, chances, np.empty((0, self.alphabet_size)))
        return chances

    def step(self, token: int) -> tuple[float, Float64[np.ndarray, "symbols"]]:
        """Feed one token; give the probability that it had, and the distribution after it."""
        chunk = self._checked([token])
        chances, distributions = np.full(1, np.nan), np.full((1, self.alphabet_size), np.nan)
        self._feed(chunk, chances, distributions)
        return float(chances[0]), distributions[0]

    @property
    def seen(self) -> int:
        """Tokens fed so far."""
        return self._seen

    @property
    def contexts(self) -> int:
        """Distinct contexts stored; for `backoff` those, of every order, that had to be told apart."""
        return self._counter.contexts

    @property
    def nbytes(self) -> int:
        """Bytes held by the counts."""
        return sum(store.nbytes for store in self._counter.stores) + self._tail.nbytes

    def _checked(self, tokens: Sequence[int] | np.ndarray) -> np.ndarray:
        chunk = np.asarray(tokens)
        require(
            chunk.ndim == 1,
            f"the chunk has shape {chunk.shape}, must be one sequence (length,); feed one row",
        )
        if chunk.size:
            require(
                chunk.dtype.kind in "iub",
                f"the chunk holds {chunk.dtype} values, tokens are integers; convert it",
            )
            where = f"the chunk that begins at position {self._seen}" if self._seen else "the sequence"
            check_tokens(chunk, self.alphabet_size, where)
        require(
            self._seen + chunk.size <= _LONGEST_STREAM,
            f"the stream would have {self._seen + chunk.size} tokens, must be at most {_LONGEST_STREAM}; "
            "begin a new estimator",
        )
        return chunk

    def _feed(self, chunk: np.ndarray, chances: np.ndarray, distributions: np.ndarray) -> None:
        if self.estimator == "biased" and self._seen < self.order <= self._seen + chunk.size:
            missing = self.order - self._seen
            self._count_early(np.append(self._tail[missing:], chunk[:missing]))
        for begin in range(0, chunk.size, _SLICE):
            part = slice(begin, begin + _SLICE)
            stream = np.append(self._tail, chunk[part].astype(self._tail.dtype))
            self._counter.feed(stream, self._seen, chances[part], distributions[part])
            self._tail = stream[-self.order :].copy()
            self._seen += stream.size - self.order

    def _count_early(self, early: np.ndarray) -> None:
        """Count what a head with normalised queries and keys counts without a full window.

        Position i < k has the key of its i tokens, position 0 that of its own token. It points the same way
        as the window of k tokens w iff both, repeated for ever, are the same word: then w is the first k
        letters of that word, and the word must have period k, that is, survive a rotation by k.
        """
        nothing = np.empty(0), np.empty((0, self.alphabet_size))
        for i, token in enumerate(early):
            word = early[: max(i, 1)]
            if np.array_equal(np.roll(word, -self.order), word):
                window = np.resize(word, self.order)
                self._counter.feed(np.append(window, token).astype(self._tail.dtype), self.order, *nothing)


_Column = tuple[Any, int] | None  # dtype and width of an array, or no array


class _Store:
    """Arrays of numbered rows that double together, and an index that finds a number by a key."""

    def __init__(self, *columns: _Column, index: bool = False) -> None:
        self.room = 8
        self.arrays = [column and np.zeros((self.room, column[1]), column[0]) for column in columns]
        self.index = _empty_index(2 * self.room) if index else None

    def ensure(self, wanted: int) -> None:
        while self.room < wanted:
            self.arrays = [array if array is None else _doubled(array) for array in self.arrays]
            if self.index is not None:
                # At most half full: longer searches cost more than the memory is worth.
                old, self.index = self.index, _empty_index(2 * len(self.index))
                rehash(old, self.index)
            self.room *= 2

    @property
    def nbytes(self) -> int:
        return sum(array.nbytes for array in (*self.arrays, self.index) if array is not None)


def _doubled(array: np.ndarray) -> np.ndarray:
    doubled = np.zeros((2 * len(array), array.shape[1]), array.dtype)
    doubled[: len(array)] = array
    return doubled


def _empty_index(capacity: int) -> np.ndarray:
    """Zeros that begin at a cache line, so that no row of two words lies across two lines."""
    memory = np.zeros(2 * capacity + 7, np.int64)
    begin = -(memory.ctypes.data // 8) % 8
    return memory[begin : begin + 2 * capacity].reshape(capacity, 2)


class _Counter:
    """What both ways of counting share: stores, how much of each is used, and room for one more token."""

    def __init__(self, alphabet_size: int, column: _Column, windows: _Column) -> None:
        dense = alphabet_size <= _DENSE_SYMBOLS
        counts = (np.uint32, 1 + alphabet_size if dense else 2)
        pairs = _Store(None) if dense else _Store((np.uint32, 3), index=True)
        self.stores = (_Store(index=True), _Store(counts, column), pairs, _Store(windows))
        self.used = np.zeros(4, np.int64)
        self.stop = np.zeros(4, np.int64)

    def make_room(self, *needs: int) -> None:
        for i, (store, need) in enumerate(zip(self.stores, needs, strict=True)):
            store.ensure(int(self.used[i]) + need)
            self.stop[i] = store.room - need


class _Contexts(_Counter):
    """Counts of what follows each window of k tokens, found by hashing."""

    filler = 0

    def __init__(self, order: int, alphabet_size: int, beta: float, *, bag: bool) -> None:
        self.order, self.alphabet_size, self.beta, self.bag = order, alphabet_size, beta, bag
        self.dtype = np.min_scalar_type(alphabet_size - 1)
        exact = alphabet_size**order <= 1 << _KEY_BITS
        self.base = alphabet_size if exact else _HASH_BASE
        super().__init__(alphabet_size, None if exact else (self.dtype, order), None)

    def feed(self, stream: np.ndarray, seen: int, chances: np.ndarray, distributions: np.ndarray) -> None:
        windows, stride = stream, 1
        if self.bag:
            windows, stride = np.sort(sliding_window_view(stream, self.order), axis=1).reshape(-1), self.order
        tokens = stream[self.order :]
        keys = np.empty(tokens.size + 1, np.int64)
        window_keys(windows, stride, self.order, self.base, keys)
        place, first = 0, max(0, self.order - seen)
        while place < tokens.size:
            self.make_room(1, 1, 1, 0)
            index, rows, pairs, _ = self.stores
            place = count_contexts(
                index.index, *rows.arrays, pairs.index, *pairs.arrays, self.used, self.stop,
                keys, windows, stride, tokens, place, first,
                self.alphabet_size, self.beta, chances, distributions,
            )  # fmt: skip

    @property
    def contexts(self) -> int:
        return int(self.used[INDEX])


class _Suffixes(_Counter):
    """Counts of what follows each suffix of each window, in a tree."""

    def __init__(self, order: int, alphabet_size: int) -> None:
        self.order, self.alphabet_size = order, alphabet_size
        self.filler = alphabet_size  # stands before the stream begins: it is not a token
        self.dtype = np.min_scalar_type(alphabet_size)
        super().__init__(alphabet_size, (np.uint32, 2), (self.dtype, order))
        self.used[ROWS] = 1  # the root
        self.path = np.empty(order + 1, np.int64)

    def feed(self, stream: np.ndarray, seen: int, chances: np.ndarray, distributions: np.ndarray) -> None:
        place, length = 0, stream.size - self.order
        # One token can split an edge, which copies the pairs of a node, and add a leaf.
        pairs_needed = self.order + 2 + min(self.alphabet_size, seen + length)
        while place < length:
            self.make_room(2, 2, pairs_needed, 1)
            index, rows, pairs, windows = self.stores
            place = count_suffixes(
                index.index, *rows.arrays, *windows.arrays, pairs.index, *pairs.arrays, self.used, self.stop,
                self.path, stream, place, self.order, self.alphabet_size, chances, distributions,
            )  # fmt: skip

    @property
    def contexts(self) -> int:
        return int(self.used[ROWS])
