"""Posteriors over a pool, in plain fractions."""

from fractions import Fraction

import jax.numpy as jnp
import numpy as np
import pytest

from anyorder import chains, estimators

POOL = {  # kernels in sixteenths: order 1 over 2 symbols
    1: [[[15, 1], [4, 12]], [[8, 8], [2, 14]], [[3, 13], [10, 6]]],
    2: [[[[1, 15], [6, 10]], [[8, 8], [15, 1]]], [[[5, 11], [9, 7]], [[12, 4], [3, 13]]]],
}
TOKENS = [0, 0, 1, 0, 1, 1, 1, 0, 1, 0, 0, 0]


def row(kernel, window):
    for token in window:
        kernel = kernel[token]
    return [Fraction(entry, 16) for entry in kernel]


def enumerated(order, n, noise=Fraction(0)):
    """Likelihood of every chain, and the next token by the law of total probability."""
    mixed = [
        lambda window, kernel=kernel: [(1 - noise) * p + noise / 2 for p in row(kernel, window)]
        for kernel in POOL[order]
    ]
    likelihoods = []
    for rows in mixed:
        product = Fraction(1)
        for place in range(order, n + 1):
            product *= rows(TOKENS[place - order : place])[TOKENS[place]]
        likelihoods.append(product)
    posterior = [one / sum(likelihoods) for one in likelihoods]
    window = TOKENS[n - order + 1 : n + 1]
    return posterior, [sum(p * rows(window)[s] for p, rows in zip(posterior, mixed, strict=True)) for s in (0, 1)]


@pytest.mark.parametrize("order", [1, 2])
@pytest.mark.parametrize("noise", [None, chains.TransitionNoise(0.25), chains.TokenNoise(0.0)])
def test_retrieval_is_the_posterior_over_the_pool(order, noise):
    pool = chains.Pool(order, 2, kernels=jnp.asarray(POOL[order]) / 16)
    best = estimators.floor(chains.Source(pool, length=len(TOKENS), noise=noise))
    assert best.name == "retrieval"
    found = best(TOKENS)
    assert found.defined.tolist() == [n >= order - 1 for n in range(len(TOKENS))]
    for n in range(order - 1, len(TOKENS)):
        posterior, expected = enumerated(order, n, Fraction(1, 4) if getattr(noise, "strength", 0) else Fraction(0))
        np.testing.assert_allclose(found.probabilities[n], np.array(expected, float), atol=1e-12)
        np.testing.assert_allclose(found.posterior[n], np.array(posterior, float), atol=1e-12)


def test_unigram_retrieval_knows_the_stationary_distributions_alone():
    found = estimators.unigram_retrieval(TOKENS, kernels=jnp.asarray(POOL[1]) / 16)
    symbols = [Fraction(kernel[1][0], kernel[1][0] + kernel[0][1]) for kernel in POOL[1]]  # of 0, by balance
    for n in range(len(TOKENS)):
        likelihoods = [Fraction(1)] * len(symbols)
        for token in TOKENS[1 : n + 1]:  # the first token is uniform
            likelihoods = [
                weight * (zero if token == 0 else 1 - zero) for weight, zero in zip(likelihoods, symbols, strict=True)
            ]
        weighted = sum(weight * zero for weight, zero in zip(likelihoods, symbols, strict=True)) / sum(likelihoods)
        assert float(found.probabilities[n, 0]) == pytest.approx(float(weighted), abs=1e-12)


@pytest.mark.slow
def test_long_sequences_do_not_underflow_and_impossible_ones_have_a_posterior():
    pool = chains.Pool(order=1, alphabet_size=2, chains=4)
    tokens = chains.Source(pool, length=4000).sample(0, 1).tokens[0]
    found = estimators.retrieval(tokens, kernels=pool.kernels)
    assert float(found.posterior[-1].max()) > 1 - 1e-6
    np.testing.assert_allclose(found.posterior.sum(axis=1), 1)
    fixed = jnp.eye(2)[None]
    assert estimators.retrieval([0, 1, 1], kernels=fixed).posterior[-1].tolist() == [1.0]


def test_the_predictors_of_a_pool_are_retrieval_and_inference_and_their_unigram_forms():
    pool = chains.Pool(order=1, alphabet_size=2, chains=4)
    found = estimators.references(pool)
    assert list(found) == ["retrieval", "order-0", "order-1", "unigram-retrieval"]
    expected = estimators.bayes(TOKENS, order=1, alphabet_size=2).probabilities
    np.testing.assert_array_equal(found["order-1"](TOKENS).probabilities, expected)
    zeros = TOKENS[1:].count(0)
    assert float(found["order-0"](TOKENS).probabilities[-1, 0]) == pytest.approx((zeros + 1) / (len(TOKENS) + 1))


def test_binary_doubly_stochastic_kernels_have_an_exact_floor():
    """π(s | x_0 c) depends on c and on whether s = x_0: Beta integrals ∫ p^a (1 - p)^b = a! b! / (a + b + 1)!."""
    for order in (1, 2, 3):
        found = estimators.floor(chains.DoublyStochastic(order, 2))(TOKENS).probabilities
        for n in range(order - 1, len(TOKENS)):
            between = TOKENS[n - order + 2 : n + 1]
            kept = changed = 0
            for place in range(order, n + 1):
                if TOKENS[place - order + 1 : place] == between:
                    kept += TOKENS[place] == TOKENS[place - order]
                    changed += TOKENS[place] != TOKENS[place - order]
            stays = Fraction(kept + 1, kept + changed + 2)  # ratio of two such integrals
            assert float(found[n, TOKENS[n - order + 1]]) == pytest.approx(float(stays), abs=1e-14)
    assert estimators.floor(chains.DoublyStochastic(1, 3)).reason.endswith("for two symbols only")
