"""The counters of streaming estimators: growing stores, and three ways to count the successors of a context.

`Windows` counts windows of k tokens, `Suffixes` every suffix of them in a compressed tree, `Paths` every suffix in an
uncompressed tree, whose nodes store more than counts. The compiled loops are in `hashing`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Literal, Protocol

import numpy as np
from jaxtyping import Float64
from numpy.lib.stride_tricks import sliding_window_view

from anyorder.errors import check_order, require
from anyorder.estimators.hashing import (
    INDEX,
    ROWS,
    TOTAL,
    count_contexts,
    count_paths,
    count_suffixes,
    follow,
    marginals,
    rehash,
    weigh,
    window_keys,
)

_DENSE_SYMBOLS = 15  # up to here a context has a count of every symbol, with at least 63 // 15 = 4 bits at first
_KEY_BITS = 63  # a context that fits is its own key; a longer one is hashed
_HASH_BASE = 0x2545F4914F6CDD1D
_TOGETHER = 16  # tokens whose contexts are looked up together


class Counter(Protocol):
    """The interface of counters to `StreamingEstimator`."""

    order: int
    dtype: np.dtype
    #: The token that pads a sequence on the left.
    filler: int

    def feed(self, stream: np.ndarray, seen: int, chances: np.ndarray, distributions: np.ndarray) -> None:
        """Count the tokens of `stream` after its first k, which are the preceding tokens; `seen` of these exist.

        Write the probability that was predicted for each token, and the distribution after it, where defined; either
        array may be empty.
        """

    @property
    def contexts(self) -> int:
        """Distinct contexts stored."""

    @property
    def nbytes(self) -> int:
        """Bytes in memory."""

    def posterior(self, tail: np.ndarray) -> Float64[np.ndarray, "orders"] | None:
        """Weights of the orders in the prediction after these k tokens; None where only one order predicts."""
        return None


class Recounted(Counter):
    """Keeps the sequence and recomputes all predictions for every chunk; a new sequence starts without counts."""

    dtype, filler = np.dtype(np.int32), 0

    def __init__(self, order: int, predict: Callable[[np.ndarray], Float64[np.ndarray, "length symbols"]]) -> None:
        self.order, self._predict = order, predict
        self._tokens = np.empty(0, self.dtype)

    def feed(self, stream: np.ndarray, seen: int, chances: np.ndarray, distributions: np.ndarray) -> None:
        """Predict the whole sequence again, and keep the rows of the chunk."""
        fresh = stream[self.order :]
        self._tokens = np.append(self._tokens[:seen], fresh)
        rows = self._predict(self._tokens)
        if chances.size:
            before = np.concatenate([np.full_like(rows[:1], np.nan), rows[:-1]])[seen:]
            chances[:] = before[np.arange(fresh.size), fresh]
        if distributions.size:
            distributions[:] = rows[seen:]

    @property
    def contexts(self) -> int:
        """Zero: contexts are not stored."""
        return 0

    @property
    def nbytes(self) -> int:
        """Bytes of the stored sequence."""
        return self._tokens.nbytes


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
                # At most half full: longer searches would cost more than the memory saves.
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
    """Zeros aligned to a cache line, so that no row of two words spans two lines."""
    memory = np.zeros(2 * capacity + 7, np.int64)
    begin = -(memory.ctypes.data // 8) % 8
    return memory[begin : begin + 2 * capacity].reshape(capacity, 2)


class _Stores(Counter):
    """The base of all counters: stores, the used part of each, and a method that lets a compiled loop fill them."""

    def __init__(self, alphabet_size: int, columns: Sequence[_Column], windows: Sequence[_Column] = ()) -> None:
        dense = alphabet_size <= _DENSE_SYMBOLS
        counts = (np.uint32, 1 + alphabet_size if dense else 2)
        pairs = _Store(None) if dense else _Store((np.uint32, 3), index=True)
        self.stores = (_Store(index=True), _Store(counts, *columns), pairs, _Store(*windows))
        self.used = np.zeros(4, np.int64)
        self.stop = np.zeros(4, np.int64)

    def fill(self, loop: Callable[..., int], length: int, needs: tuple[int, ...], *arguments: object) -> None:
        """Let a compiled loop count `length` tokens with these needs each; it stops where a store must grow."""
        index, rows, pairs, windows = self.stores
        place = 0
        while place < length:
            for i, (store, need) in enumerate(zip(self.stores, needs, strict=True)):
                store.ensure(int(self.used[i]) + need)
                self.stop[i] = store.room - need
            kept = (index.index, *rows.arrays, pairs.index, *pairs.arrays, *windows.arrays)
            place = loop(*kept, self.used, self.stop, place, *arguments)

    @property
    def nbytes(self) -> int:
        """Bytes in memory."""
        return sum(store.nbytes for store in self.stores)


class Windows(_Stores):
    """Counts of the successors of each window of k tokens, found by hashing; with `bag`, of k tokens in any order.

    With `early` it also counts the partial windows that a head with normalised queries and keys counts.
    """

    filler = 0

    def __init__(
        self, order: int, alphabet_size: int, beta: float | None, *, bag: bool = False, early: bool = False
    ) -> None:
        check_order(order)
        self.order, self.alphabet_size, self.beta, self.bag, self.early = order, alphabet_size, beta or 0.0, bag, early
        self.dtype = np.min_scalar_type(alphabet_size - 1)
        exact = alphabet_size**order <= 1 << _KEY_BITS
        self.base = alphabet_size if exact else _HASH_BASE
        super().__init__(alphabet_size, [None if exact else (self.dtype, order)])

    def feed(self, stream: np.ndarray, seen: int, chances: np.ndarray, distributions: np.ndarray) -> None:
        """Count a chunk and, before the first full window, the aligned openings."""
        if self.early and seen < self.order <= seen + stream.size - self.order:
            self._count_early(stream[self.order - seen :][: self.order])
        self._count(stream, seen, chances, distributions)

    def _count_early(self, early: np.ndarray) -> None:
        """Count the openings whose code has the same direction as the code of a full window.

        Position i < k has the key of its i tokens, position 0 that of its own token. Its code is parallel to the code
        of the window w iff both, repeated forever, are the same word: then w is the first k letters of that word, and
        the word must have period k, that is, be invariant under a rotation by k.
        """
        for i, token in enumerate(early):
            word = early[: max(i, 1)]
            if np.array_equal(np.roll(word, -self.order), word):
                window = np.append(np.resize(word, self.order), token).astype(self.dtype)
                self._count(window, self.order, np.empty(0), np.empty((0, self.alphabet_size)))

    def _count(self, stream: np.ndarray, seen: int, chances: np.ndarray, distributions: np.ndarray) -> None:
        windows, stride = stream, 1
        if self.bag:
            windows, stride = np.sort(sliding_window_view(stream, self.order), axis=1).reshape(-1), self.order
        tokens = stream[self.order :]
        keys = np.empty(tokens.size + 1, np.int64)
        window_keys(windows, stride, self.order, self.base, keys)
        self.fill(
            count_contexts, tokens.size, (1, 1, 1, 0), keys, windows, stride, tokens, max(0, self.order - seen),
            self.alphabet_size, self.beta, chances, distributions,
        )  # fmt: skip

    @property
    def contexts(self) -> int:
        """Distinct windows."""
        return int(self.used[INDEX])


class Suffixes(_Stores):
    """Counts of the successors of each suffix of each window, in a compressed tree; the longest known one predicts."""

    def __init__(self, order: int, alphabet_size: int, beta: float | None) -> None:
        check_order(order)
        self.order, self.alphabet_size = order, alphabet_size
        self.filler = alphabet_size  # the filler before the stream, which is not a token
        self.dtype = np.min_scalar_type(alphabet_size)
        super().__init__(alphabet_size, [(np.uint32, 2)], [(self.dtype, order)])
        self.used[ROWS] = 1  # the root
        self.path = np.empty(order + 1, np.int64)

    def feed(self, stream: np.ndarray, seen: int, chances: np.ndarray, distributions: np.ndarray) -> None:
        """Count a chunk in every suffix."""
        length = stream.size - self.order
        # One token can split an edge, which copies the pairs of a node, and add a leaf.
        needs = (2, 2, self.order + 2 + min(self.alphabet_size, seen + length), 1)
        self.fill(
            count_suffixes, length, needs, self.path, stream, self.order, self.alphabet_size, chances, distributions
        )

    @property
    def contexts(self) -> int:
        """Distinct suffixes, of every order, that the tree stores."""
        return int(self.used[ROWS])


class Paths(_Stores):
    """Counts of the successors of each suffix of each window, including order 0, from the first full window on.

    Predictions are those of the mixture of all orders or of context-tree weighting (`trees`); `counts` makes none.
    """

    filler = 0

    def __init__(
        self,
        order: int,
        alphabet_size: int,
        beta: float | None,
        *,
        kind: Literal["orders", "trees", "counts"] = "orders",
    ) -> None:
        require(order >= 0, f"order is {order}, must be at least 0; pass `order=0` or more")
        self.order, self.alphabet_size, self.beta = order, alphabet_size, beta or 0.0
        self.dtype = np.min_scalar_type(alphabet_size - 1)
        super().__init__(alphabet_size, [(np.uint32, 1), (np.float64, 1) if kind == "trees" else None])
        self.used[ROWS] = 1  # the root, the empty context
        self.evidence = np.zeros(order + 1 if kind == "orders" else 0)
        #: Distinct contexts of every order.
        self.nodes = np.zeros(order + 1, np.int64)
        self.paths = np.zeros((_TOGETHER, order + 1), np.int64)

    def feed(self, stream: np.ndarray, seen: int, chances: np.ndarray, distributions: np.ndarray) -> None:
        """Count a chunk in every suffix of the full windows."""
        first, length = max(0, self.order - seen), stream.size - self.order
        self.nodes[0] |= length > first
        self.fill(
            count_paths, length, (*(_TOGETHER * (self.order + 1),) * 3, 0), self.paths, stream, first,
            self.alphabet_size, self.beta, chances, distributions, self.evidence, self.nodes,
        )  # fmt: skip

    def posterior(self, tail: np.ndarray) -> Float64[np.ndarray, "orders"]:
        """Weights of the orders, or of the depths at the context of these k tokens."""
        index, rows = self.stores[:2]
        path, weights = self.paths[0], np.empty(self.order + 1)
        known = follow(index.index, rows.arrays[0], path, tail, tail.size - 1, self.alphabet_size)
        weigh(rows.arrays[2], self.evidence, path, known, weights)
        return weights

    def marginals(self, beta: float) -> tuple[np.ndarray, np.ndarray, float]:
        """Log-probability of the counted tokens, under each order and under context-tree weighting; Dirichlet(β) rows.

        Between the two is the log-likelihood of each order, maximised over rows.
        """
        _, rows, pairs, _ = self.stores
        counts, parents, _ = rows.arrays
        evidence, likelihood = np.zeros(self.order + 1), np.zeros(self.order + 1)
        size = int(self.used[ROWS])
        weighted = marginals(
            counts, parents, *pairs.arrays, size, self.order, self.alphabet_size, beta, evidence, likelihood
        )
        return evidence, likelihood, weighted

    @property
    def positions(self) -> int:
        """Tokens counted."""
        counts = self.stores[1].arrays[0]
        return 0 if counts is None else int(counts[0, TOTAL])

    @property
    def contexts(self) -> int:
        """Distinct suffixes, of every order."""
        return int(self.nodes.sum())
