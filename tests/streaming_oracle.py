"""The count estimators word for word from their definitions, in exact fractions, one position at a time."""

from collections import Counter
from fractions import Fraction
from math import nan


def window(x, n, k):
    """The last k tokens up to position n, or None if there are fewer."""
    return x[n - k + 1 : n + 1] if n >= k - 1 else None


def followers(x, n, k, alike):
    """Counter of x_i over i in k..n whose k tokens before i are alike the window of n."""
    return Counter(x[i] for i in range(k, n + 1) if alike(x[i - k : i], window(x, n, k)))


def equal(a, b):
    return a == b


def equal_bags(a, b):
    return Counter(a) == Counter(b)


def repeat_to_the_same_word(a, b):
    return a * len(b) == b * len(a)


def counts(x, n, k, estimator):
    if window(x, n, k) is None and estimator != "backoff":
        return None
    if estimator == "bag":
        return followers(x, n, k, equal_bags)
    if estimator == "biased":
        found = followers(x, n, k, equal)
        for i in range(k):
            prefix = x[:i] if i >= 1 else x[:1]
            if repeat_to_the_same_word(prefix, window(x, n, k)):
                found[x[i]] += 1
        return found
    if estimator == "backoff":
        longest = max(j for j in range(k + 1) if j <= n + 1 and (j == 0 or followers(x, n, j, equal)))
        return followers(x, n, longest, equal) if longest else Counter(x[: n + 1])
    return followers(x, n, k, equal)


def distribution(x, n, k, symbols, estimator, beta=1.0):
    """Probabilities of all symbols after position n; all NaN where undefined."""
    found = counts(x, n, k, estimator)
    if found is None:
        return [nan] * symbols
    smoothing = Fraction(beta) if estimator == "bayes" else Fraction(0)
    total = sum(found.values()) + smoothing * symbols
    if total == 0:
        return [nan] * symbols
    row = [float(smoothing / total)] * symbols
    for s in found:
        row[s] = float((found[s] + smoothing) / total)
    return row


def distributions(x, k, symbols, estimator, beta=1.0):
    """One row for every position."""
    return [distribution(x, n, k, symbols, estimator, beta) for n in range(len(x))]
