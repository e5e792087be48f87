"""Independent oracles: plain Python over lists and dictionaries, written from the definitions alone."""

from __future__ import annotations

import functools
import math
from collections import Counter
from fractions import Fraction

ZERO = Fraction(0)


def followers(tokens, n, k):
    """Definition 2: counts of x_i over k <= i <= n with x_{i-1} = x_n, ..., x_{i-k} = x_{n-k+1}."""
    counts = Counter()
    if n < k - 1:
        return counts
    for i in range(k, n + 1):
        if all(tokens[i - j] == tokens[n - j + 1] for j in range(1, k + 1)):
            counts[tokens[i]] += 1
    return counts


def normalise(counts, size):
    total = sum(counts.values())
    return None if total == 0 else [Fraction(counts[s], total) if s in counts else ZERO for s in range(size)]


def kgram(tokens, n, k, size):
    return normalise(followers(tokens, n, k), size)


def add_beta(tokens, n, k, size, beta=Fraction(1)):
    if n < k - 1:
        return None
    counts = followers(tokens, n, k)
    total = sum(counts.values()) + beta * size
    unseen = beta / total
    return [(counts[s] + beta) / total if s in counts else unseen for s in range(size)]


def bag(tokens, n, k, size):
    counts = Counter()
    if n >= k - 1:
        wanted = sorted(tokens[n - k + 1 : n + 1])
        for i in range(k, n + 1):
            if sorted(tokens[i - k : i]) == wanted:
                counts[tokens[i]] += 1
    return normalise(counts, size)


def backoff(tokens, n, k, size):
    for order in range(k, 0, -1):
        distribution = kgram(tokens, n, order, size)
        if distribution is not None:
            return distribution
    return normalise(Counter(tokens[: n + 1]), size)


@functools.cache
def direction(word, base=3):
    """The normalised code of a window, newest token with weight one, as exact fractions summing to one."""
    weights = Counter()
    for place, token in enumerate(reversed(word)):
        weights[token] += base**place
    total = sum(weights.values())
    return {token: Fraction(weight, total) for token, weight in weights.items()}


def biased(tokens, n, k, size):
    """Attention to every key whose code points the way of the query's; full windows and partial ones alike."""
    if n < k - 1:
        return None
    query = direction(tuple(tokens[n - k + 1 : n + 1]))
    counts = Counter()
    for i in range(n + 1):
        word = tokens[max(0, i - k) : i] if i else tokens[:1]  # position 0 attends to itself
        if direction(tuple(word)) == query:
            counts[tokens[i]] += 1
    return normalise(counts, size)


ESTIMATORS = {"kgram": kgram, "add_beta": add_beta, "bag": bag, "backoff": backoff, "biased": biased}


def distribution(tokens, n, k, size, name, beta=1.0):
    """One of the estimators after position n, as floats; NaN where it is undefined."""
    exact = add_beta(tokens, n, k, size, Fraction(beta)) if name == "bayes" else ESTIMATORS[name](tokens, n, k, size)
    return [math.nan] * size if exact is None else [float(p) for p in exact]


def distributions(tokens, k, size, name, beta=1.0):
    """One row for every position."""
    return [distribution(tokens, n, k, size, name, beta) for n in range(len(tokens))]


def entropy(row):
    return -sum(p * math.log(p) for p in row if p > 0)
