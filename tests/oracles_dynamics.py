"""Independent oracles of the dynamics: enumeration of whole sequences, loops over positions, exact fractions."""

from __future__ import annotations

import itertools
import math
from fractions import Fraction

import numpy as np


def stationary(kernel):
    """The stationary distribution of contexts, by many steps from a uniform start."""
    size, order = kernel.shape[-1], kernel.ndim - 1
    now = dict.fromkeys(itertools.product(range(size), repeat=order), size ** (-order))
    for _ in range(3000):
        after = dict.fromkeys(now, 0.0)
        for context, weight in now.items():
            for s in range(size):
                after[(*context[1:], s)] += weight * kernel[(*context, s)]
        now = after
    return now


def words(kernel, length):
    """Every sequence of a length with its probability, in the stationary chain."""
    size, order = kernel.shape[-1], kernel.ndim - 1
    opening = stationary(kernel)
    for word in itertools.product(range(size), repeat=length):
        weight = opening[word[:order]]
        for i in range(order, length):
            weight *= kernel[word[i - order : i + 1]]
        yield word, weight


def lag_score(kernel, lag):
    """Σ_l g_{i,j,l} of App. D, summed term by term; contexts are oldest first."""
    size, order = kernel.shape[-1], kernel.ndim - 1
    pair, single = np.zeros((size, size)), np.zeros(size)
    for word, weight in words(kernel, max(order, 1) + lag):
        pair[word[-1 - lag], word[-1]] += weight
        single[word[-1]] += weight
    total = 0.0
    for context in itertools.product(range(size), repeat=order):
        for s in range(size):
            for place in range(order):
                apart = pair[context[place], s] - single[context[place]] * single[s]
                total += kernel[(*context, s)] / single[s] * apart
    return total


def later(kernel, context, steps, symbol):
    """Pr(the token `steps` after a context is the symbol), by recursion over paths."""
    if steps == 1:
        return kernel[(*context, symbol)]
    return sum(
        kernel[(*context, s)] * later(kernel, (*context[1:], s), steps - 1, symbol) for s in range(kernel.shape[-1])
    )


def softmax(values):
    top = max(values)
    powers = [math.exp(value - top) for value in values]
    return [power / sum(powers) for power in powers]


def reduced(tokens, p, r, a_2, context, size, normalise):
    """The reduced model in plain loops: the distribution after a context (oldest first)."""
    query = np.zeros(size)
    for weight, symbol in zip(softmax(r), reversed(context), strict=True):
        query[symbol] += weight
    scores = []
    for i in range(len(tokens)):
        window = np.zeros(size)
        for j, weight in enumerate(softmax(p[: i + 1])):
            window[tokens[i - j]] += weight
        if normalise:
            window = window / math.sqrt((window**2).sum())
        scores.append(float(window @ query) / (math.sqrt((query**2).sum()) if normalise else 1))
    distribution = np.zeros(size)
    for weight, symbol in zip(softmax([a_2 * score for score in scores]), tokens, strict=True):
        distribution[symbol] += weight
    return distribution


def stage_one_gradient(p, scores, a_2, size, order):
    """dL/dp_m at a_2 → 0, as printed: loops over rows and offsets."""
    gradient = np.zeros(len(p))
    for i in range(len(p)):
        weights = softmax(p[: i + 1])
        mean = sum(weight * score for weight, score in zip(weights, scores, strict=False))
        for m in range(i + 1):
            gradient[m] -= a_2 / (size**order * order * len(p)) * weights[m] * (scores[m] - mean)
    return gradient


def floored_row(counts, gamma):
    """Posterior mean of (1-γ)θ + γ/S, θ ~ Dirichlet(1), given counts: exact, by expanding every power."""
    size = len(counts)

    def moment(powers):
        total = Fraction(0)
        for taken in itertools.product(*(range(power + 1) for power in powers)):
            term = Fraction(math.factorial(size - 1), math.factorial(sum(taken) + size - 1))
            for power, t in zip(powers, taken, strict=True):
                term *= math.comb(power, t) * (1 - gamma) ** t * (gamma / size) ** (power - t) * math.factorial(t)
            total += term
        return total

    evidence = moment(counts)
    return [moment([c + (s == place) for place, c in enumerate(counts)]) / evidence for s in range(size)]
