"""Agreement profiles: which tokens before a key a head compares with those at its query.

For query n and key i, offset j agrees if x_{i-j} = x_{n-j+1}, j = 1 … K. In random tokens every pattern of agreement
occurs, independently of the position and of the other tokens. A profile is the mean attention on keys of a pattern,
relative to the mean of the row, for these patterns: all offsets agree, all but one agree (that one is flipped), only
one agrees, none agrees. If an offset up to k is flipped, an ideal head of order k loses all of its attention to the
key; if a later offset is flipped, it loses none.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from jaxtyping import Bool, Float, Int
from scipy import stats

from anyorder.probing.spectrum import jackknife, quotient

#: An offset is needed if flipping it leaves at most this share of the rise from "none agrees" to "all agree".
NEEDED = 0.25
#: An offset is not needed if flipping it leaves at least this share.
SPARE = 0.75
#: In a graded head, the share left after a flip may decrease by at most this much from one offset to the next older.
SLACK = 0.1
#: Least contrast (all minus none, relative to the mean of the row) of a head that compares tokens.
LEAST_CONTRAST = 1.0
#: Attention is clipped to at least this value in the fit of scores.
LEAST_ATTENTION = 1e-6


@dataclasses.dataclass(frozen=True)
class Agreement:
    """Attention relative to the mean of the row, by pattern; `flipped[j - 1]` and `alone[j - 1]` belong to offset j."""

    all: float
    flipped: tuple[float, ...]
    alone: tuple[float, ...]
    none: float


@dataclasses.dataclass(frozen=True)
class ScoreFit:
    """Least-squares fit to the logarithm of attention, in nats, with effects of the row and of the distance.

    `offsets` are the contributions of single agreeing offsets. `suffixes` are the additional contributions of offsets
    2 … K if all newer offsets agree too. Suffix terms indicate a head that compares suffixes, offset terms a head that
    adds up single agreements.
    """

    offsets: tuple[float, ...]
    suffixes: tuple[float, ...]


class Agreed(NamedTuple):
    """Sums over the pairs of one sequence: quotients and pairs by pattern, and the normal equations of the fit."""

    sums: Float[np.ndarray, "heads patterns"]
    pairs: Float[np.ndarray, "heads patterns"]
    gram: Float[np.ndarray, "features features"]
    moment: Float[np.ndarray, "heads features"]


def agreed(
    maps: Sequence[Float[np.ndarray, "_ rows rows"]],
    tokens: Int[np.ndarray, "rows"],
    longest: int,
    begins: int = 0,
    pairs: Bool[np.ndarray, "length length"] | None = None,
) -> Agreed:
    """Sums over the pairs of one sequence with `begins` start tokens; `maps` by layer.

    Patterns are: all, flipped 1 … K, alone 1 … K, none. `pairs` marks the queries and keys, without start tokens, that
    enter the profiles; None: all. Row means and the fit use all keys of each row that has a pair.

    >>> tokens = np.array([0, 1, 0, 1, 1, 0, 0, 1])
    >>> sums = agreed([np.tri(8)[None] / np.arange(1, 9)[:, None]], tokens, 2)
    >>> quotient(sums.sums, sums.pairs)[0].round(6).tolist()  # uniform attention
    [1.0, 1.0, 1.0, 1.0, 1.0, 1.0]
    """
    rows = np.arange(len(tokens))
    taken = np.ones((len(rows), len(rows)), bool) if pairs is None else np.pad(pairs, (begins, 0))
    query, key = np.nonzero((rows[:, None] > rows) & (rows >= longest + begins) & taken.any(axis=1, keepdims=True))
    agree = np.stack([tokens[key - offset] == tokens[query - offset + 1] for offset in range(1, longest + 1)])
    number = agree.sum(axis=0)
    patterns = np.concatenate(
        [[number == longest], (number == longest - 1) & ~agree, (number == 1) & agree, [number == 0]]
    )
    patterns = (patterns & taken[query, key]).astype(np.float32)
    starts, row = np.unique(query, return_index=True, return_inverse=True)[1:]
    keys = np.bincount(row)
    distance = np.log2(query - key).astype(int)
    far = distance == np.arange(1, np.log2(len(tokens)).astype(int) + 1)[:, None]
    features = np.concatenate([agree, np.logical_and.accumulate(agree)[1:], far]).astype(np.float32)
    features -= (np.add.reduceat(features, starts, axis=1) / keys)[:, row].astype(np.float32)
    by_row, found = np.add.reduceat(patterns, starts, axis=1), []
    for attention in maps:  # products of one layer are too small for threads, which would spin afterwards
        weights = attention[:, query, key].astype(np.float32)
        mean = np.add.reduceat(weights, starts, axis=1) / keys
        seen = mean > 1e-12
        inverse = np.where(seen, 1 / np.maximum(mean, 1e-12), 0).astype(np.float32)
        sums, counts = (weights * inverse[:, row]) @ patterns.T, seen.astype(np.float32) @ by_row.T
        found.append((sums, counts, np.log(np.maximum(weights, LEAST_ATTENTION)) @ features.T))
    sums, counts, moment = map(np.concatenate, zip(*found, strict=True))
    return Agreed(sums, counts, features @ features.T, moment)


@dataclasses.dataclass(frozen=True)
class Profiles:
    """Sums behind the profiles of all heads, by sequence, and the statistics derived from them."""

    longest: int
    sums: Float[np.ndarray, "sequences heads patterns"]
    pairs: Float[np.ndarray, "sequences heads patterns"]

    def of(self, chosen: slice) -> Profiles:
        """Some of the sequences."""
        return Profiles(self.longest, self.sums[chosen], self.pairs[chosen])

    @property
    def mean(self) -> Float[np.ndarray, "heads patterns"]:
        """The mean quotient over the pairs of each pattern; NaN where it does not occur."""
        return quotient(self.sums.sum(axis=0), self.pairs.sum(axis=0))

    @property
    def replicates(self) -> Float[np.ndarray, "sequences heads patterns"]:
        """The mean with each sequence left out in turn."""
        return quotient(self.sums.sum(axis=0) - self.sums, self.pairs.sum(axis=0) - self.pairs)

    @property
    def contrast(self) -> Float[np.ndarray, "heads"]:
        """All minus none."""
        return self.mean[:, 0] - self.mean[:, -1]

    def compares(self, level: float) -> np.ndarray:
        """Whether each head's contrast is large enough and significant in a one-sided t-test over sequences."""
        error = jackknife(self.replicates[..., 0] - self.replicates[..., -1])
        critical = stats.t.isf(level, max(len(self.sums) - 1, 1))
        return (self.contrast >= LEAST_CONTRAST) & (self.contrast > critical * error)

    def shares(self, first: int) -> Float[np.ndarray, "heads K"]:
        """Share of the rise from none to all that is left under each of K patterns, starting with pattern `first`."""
        mean = self.mean
        with np.errstate(divide="ignore", invalid="ignore"):
            return (mean[:, first : first + self.longest] - mean[:, -1:]) / self.contrast[:, None]


def profiles(parts: Sequence[Agreed], longest: int) -> Profiles:
    """The profiles of all heads."""
    sums, pairs = (np.array([getattr(part, name) for part in parts], np.float64) for name in ("sums", "pairs"))
    return Profiles(longest, sums, pairs)


def as_agreement(values: Float[np.ndarray, "patterns"]) -> Agreement:
    """Numbers by pattern with their names."""
    everything, *others, nothing = values.tolist()
    longest = len(others) // 2
    return Agreement(everything, tuple(others[:longest]), tuple(others[longest:]), nothing)


def score_fits(parts: Sequence[Agreed], longest: int) -> list[ScoreFit]:
    """The fit for every head, over all sequences."""
    gram, moment = sum(part.gram for part in parts), sum(part.moment for part in parts)
    found = np.linalg.lstsq(gram, np.transpose(moment), rcond=1e-6)[0].T
    return [ScoreFit(tuple(one[:longest].tolist()), tuple(one[longest : 2 * longest - 1].tolist())) for one in found]


def kind_of(
    shares: Float[np.ndarray, "K"], halves: Float[np.ndarray, "2 K"], alone: Float[np.ndarray, "K"]
) -> tuple[str, tuple[int, ...]]:
    """The kind of a head that compares tokens, and the offsets that it needs.

    shares: share of the rise left after flipping each offset; halves: the same on each half of the sequences; alone:
    share of the rise reached if only that offset agrees.

    >>> ideal = np.array([0.0, 0.0, 1.0])
    >>> kind_of(ideal, np.stack([ideal, ideal]), np.zeros(3))
    ('k-gram', (1, 2))
    """
    needed, spare = np.all(halves <= NEEDED, axis=0), np.all(halves >= SPARE, axis=0)
    offsets = tuple(int(offset) for offset in np.flatnonzero(needed) + 1)
    if (needed | spare).all() and offsets:
        return "k-gram" if offsets[-1] == len(offsets) else "skip", offsets
    suffixes = 1 in offsets and bool((np.diff(shares) >= -SLACK).all() and (alone[1:] <= NEEDED).all())
    return "graded" if suffixes else "diffuse", offsets
