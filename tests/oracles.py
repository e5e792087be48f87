"""Independent oracles: plain Python over lists and dictionaries, written from the definitions alone."""

from __future__ import annotations

import functools
import itertools
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


def successors(tokens, n, order, first):
    """Counts of the symbols after each context of this order among x_first … x_n: context → counts."""
    table = {}
    for i in range(first, n + 1):
        table.setdefault(tuple(tokens[i - order : i]), Counter())[tokens[i]] += 1
    return table


def marginal(counts, size, beta):
    """Probability of a sequence with these counts when its row is Dirichlet(β): a product of add-β predictions."""
    result, total = Fraction(1), 0
    for times in counts.values():
        for earlier in range(times):
            result *= (earlier + beta) / (total + size * beta)
            total += 1
    return result


def evidence(tokens, n, order, first, size, beta):
    """Probability of x_first … x_n under one order."""
    return math.prod(marginal(counts, size, beta) for counts in successors(tokens, n, order, first).values())


def mixture(tokens, n, orders, size, beta):
    """Uniform prior over the orders: the distribution after position n, and the posterior; or None, None."""
    first = max(orders)
    if n < first - 1:
        return None, None
    now = [evidence(tokens, n, order, first, size, beta) for order in orders]
    extended = [
        sum(evidence([*tokens[: n + 1], s], n + 1, order, first, size, beta) for order in orders) for s in range(size)
    ]
    return [value / sum(now) for value in extended], [value / sum(now) for value in now]


def trees(depth, size):
    """Every context tree of at most this depth, as the set of its leaves (newest token last), with its prior weight."""
    if depth == 0:
        return [([()], Fraction(1))]
    shallower = trees(depth - 1, size)
    result = [([()], Fraction(1, 2))]
    for choice in itertools.product(shallower, repeat=size):
        leaves = [(*leaf, symbol) for symbol, (subtree, _) in enumerate(choice) for leaf in subtree]
        result.append((leaves, Fraction(1, 2) * math.prod(weight for _, weight in choice)))
    return result


def ctw(tokens, n, depth, size, beta):
    """A sum over all trees: the distribution after position n, and the posterior of the leaf's depth; or None, None."""
    if n < depth - 1:
        return None, None

    @functools.cache
    def leaf_evidence(leaf, extra):
        counts = Counter()
        longer = [*tokens[: n + 1], *extra]
        for i in range(depth, len(longer)):
            if tuple(longer[i - len(leaf) : i]) == leaf:
                counts[longer[i]] += 1
        return marginal(counts, size, beta)

    total, extended, depths = ZERO, [ZERO] * size, [ZERO] * (depth + 1)
    for leaves, weight in trees(depth, size):
        now = weight * math.prod(leaf_evidence(leaf, ()) for leaf in leaves)
        total += now
        here = next(leaf for leaf in leaves if tuple(tokens[n + 1 - len(leaf) : n + 1]) == leaf)
        depths[len(here)] += now
        for s in range(size):
            extended[s] += now * leaf_evidence(here, (s,)) / leaf_evidence(here, ())
    return [value / total for value in extended], [value / total for value in depths]
