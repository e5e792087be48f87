"""Agreement profiles: which tokens before a key does a head compare with its query's?

For query n and key i, offset j agrees if x_{i-j} = x_{n-j+1}, j = 1 … K. In random tokens every pattern of agreement
occurs, independently of place and of what else stands there. A profile is the attention on keys of a pattern, relative
to the mean of the row, when all offsets agree, with each one flipped alone, with each one agreeing alone, and when
none agrees. An ideal head of order k loses all by a flip of an offset up to k and nothing by a flip beyond.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from jaxtyping import Bool, Float, Int
from scipy import stats

from anyorder.probing.spectrum import jackknife, quotient

#: An offset is needed if a flip leaves at most this share of the rise from none to all, …
NEEDED = 0.25
#: … and not needed if it leaves at least this one.
SPARE = 0.75
#: A head may lose at most this share from one offset to the next older one and still be graded.
SLACK = 0.1
#: All less none, relative to the row's mean, that a head must have to compare anything.
LEAST_CONTRAST = 1.0
#: Attention below this counts as this in the fit of scores.
LEAST_ATTENTION = 1e-6


@dataclasses.dataclass(frozen=True)
class Agreement:
    """Attention over the row's mean by pattern; `flipped[j - 1]` and `alone[j - 1]` are of offset j."""

    all: float
    flipped: tuple[float, ...]
    alone: tuple[float, ...]
    none: float


@dataclasses.dataclass(frozen=True)
class ScoreFit:
    """Least squares on the logarithm of attention, in nats, with effects of the row and of the distance.

    `offsets` are the contributions of each offset that agrees, `suffixes` those of offsets 2 … K if all newer ones
    agree as well. A head that compares suffixes has the second, a head that adds offsets the first.
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
    attention: Float[np.ndarray, "heads rows rows"],
    tokens: Int[np.ndarray, "rows"],
    longest: int,
    begins: int = 0,
    pairs: Bool[np.ndarray, "length length"] | None = None,
) -> Agreed:
    """Sum over the pairs of one sequence, which has `begins` start tokens.

    Patterns are: all, flipped 1 … K, alone 1 … K, none. `pairs` are the queries and keys, without start tokens, that
    profiles are taken over; None: all. Means of rows and the fit are over all keys of rows that have a pair.

    >>> tokens = np.array([0, 1, 0, 1, 1, 0, 0, 1])
    >>> sums = agreed(np.tri(8)[None] / np.arange(1, 9)[:, None], tokens, 2)
    >>> quotient(sums.sums, sums.pairs)[0].round(6).tolist()  # attention is spread evenly
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
    weights = attention[:, query, key].astype(np.float32)
    starts, row = np.unique(query, return_index=True, return_inverse=True)[1:]
    keys = np.bincount(row)
    mean = np.add.reduceat(weights, starts, axis=1) / keys
    seen = mean > 1e-12
    pairs = seen[:, row].astype(np.float32) @ patterns.T
    sums = (weights * np.where(seen, 1 / np.maximum(mean, 1e-12), 0)[:, row].astype(np.float32)) @ patterns.T
    distance = np.log2(query - key).astype(int)
    far = distance == np.arange(1, np.log2(len(tokens)).astype(int) + 1)[:, None]
    features = np.concatenate([agree, np.logical_and.accumulate(agree)[1:], far]).astype(np.float32)
    features -= (np.add.reduceat(features, starts, axis=1) / keys)[:, row].astype(np.float32)
    moment = np.log(np.maximum(weights, LEAST_ATTENTION)) @ features.T
    return Agreed(sums, pairs, features @ features.T, moment)


@dataclasses.dataclass(frozen=True)
class Profiles:
    """The profiles of all heads by sequence, with what they say about single heads."""

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
        """All less none."""
        return self.mean[:, 0] - self.mean[:, -1]

    def compares(self, level: float) -> np.ndarray:
        """Whether each head's contrast is large enough, and larger than sequences differ by: a one-sided t-test."""
        error = jackknife(self.replicates[..., 0] - self.replicates[..., -1])
        critical = stats.t.isf(level, max(len(self.sums) - 1, 1))
        return (self.contrast >= LEAST_CONTRAST) & (self.contrast > critical * error)

    def shares(self, first: int) -> Float[np.ndarray, "heads K"]:
        """The share of the rise from none to all that K patterns, from this one on, keep."""
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
    """The kind of a head that compares something, and the offsets that it needs.

    shares: what flips of each offset keep of the rise; halves: the same on both halves of the sequences; alone: the
    same of each offset that agrees alone.

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
