"""Estimators against brute force over Definition 2, on random, constant, periodic and sparse sequences."""

from fractions import Fraction

import jax
import jax.numpy as jnp
import numpy as np
import pytest
import scipy.integrate
from hypothesis import given, settings
from hypothesis import strategies as st

from anyorder import estimators
from anyorder.errors import InputError
from tests import oracles

SHAPES = [(1, 2, 2), (1, 3, 20), (2, 2, 24), (3, 4, 4), (4, 2, 24), (4, 3, 13)]


@st.composite
def sequences(draw):
    # A few shapes only: each one is compiled, and the values are what varies.
    order, size, length = draw(st.sampled_from(SHAPES))
    kind = draw(st.sampled_from(["random", "constant", "periodic", "sparse"]))
    if kind == "constant":
        tokens = [draw(st.integers(0, size - 1))] * length
    elif kind == "periodic":
        motif = draw(st.lists(st.integers(0, size - 1), min_size=1, max_size=4))
        tokens = (motif * length)[:length]
    elif kind == "sparse":  # mostly zeros: long runs, few distinct contexts
        ones = draw(st.sets(st.integers(0, length - 1), max_size=3))
        tokens = [int(place in ones) for place in range(length)]
    else:
        tokens = draw(st.lists(st.integers(0, size - 1), min_size=length, max_size=length))
    return tokens, order, size


@pytest.mark.parametrize("name", oracles.ESTIMATORS)
@settings(max_examples=60, deadline=None)
@given(case=sequences())
def test_estimator_equals_brute_force(name, case):
    tokens, order, size = case
    probabilities, defined = getattr(estimators, name)(tokens, order=order, alphabet_size=size)
    assert probabilities.dtype == jnp.float64
    for n in range(len(tokens)):
        expected = oracles.ESTIMATORS[name](tokens, n, order, size)
        assert bool(defined[n]) == (expected is not None)
        if expected is None:
            assert np.isnan(probabilities[n]).all()
        else:
            np.testing.assert_allclose(probabilities[n], [float(p) for p in expected], rtol=0, atol=1e-15)


@settings(max_examples=40, deadline=None)
@given(case=sequences())
def test_pseudo_attention_is_uniform_over_the_matching_positions(case):
    tokens, order, size = case
    attention = np.asarray(estimators.pseudo_attention(jnp.array(tokens, jnp.int32), order))
    for n in range(len(tokens)):
        matching = [
            i for i in range(order, n + 1) if n >= order - 1 and tokens[i - order : i] == tokens[n - order + 1 : n + 1]
        ]
        expected = np.zeros(len(tokens))
        expected[matching] = 1 / max(len(matching), 1)
        np.testing.assert_allclose(attention[n], expected, rtol=1e-15)
    # Attention times the one-hot tokens is the k-gram itself.
    probabilities, defined = estimators.kgram(tokens, order=order, alphabet_size=size)
    np.testing.assert_allclose((attention @ np.eye(size)[tokens])[defined], probabilities[defined], atol=1e-15)


def test_beta_is_the_pseudo_count():
    tokens = [0, 1, 0, 2, 0]
    half = estimators.add_beta(tokens, order=1, alphabet_size=3, beta=0.5).probabilities
    expected = oracles.add_beta(tokens, 4, 1, 3, Fraction(1, 2))
    np.testing.assert_allclose(half[-1], [float(p) for p in expected], rtol=1e-15)


def test_bag_equals_kgram_at_order_one_only():
    tokens = [0, 1, 1, 1, 0, 0, 1, 0]
    same = [estimators.bag(tokens, order=k, alphabet_size=2).probabilities for k in (1, 2)]
    kgrams = [estimators.kgram(tokens, order=k, alphabet_size=2).probabilities for k in (1, 2)]
    np.testing.assert_array_equal(same[0], kgrams[0])
    assert not np.array_equal(same[1][-1], kgrams[1][-1])


def test_a_batch_is_one_compiled_call():
    batch = jnp.array(np.random.default_rng(0).integers(0, 2, (7, 20)), jnp.int32)
    compiled = jax.jit(jax.vmap(lambda tokens: estimators.kgram(tokens, order=2, alphabet_size=2)))
    probabilities, defined = compiled(batch)
    for row in range(7):
        alone = estimators.kgram(batch[row], order=2, alphabet_size=2)
        np.testing.assert_array_equal(probabilities[row], alone.probabilities)
        np.testing.assert_array_equal(defined[row], alone.defined)


@pytest.mark.parametrize("size", [2, 3, 4])
def test_noise_free_quadrature_is_add_one(size):
    tokens = np.random.default_rng(size).integers(0, size, 14)
    exact = estimators.add_beta(tokens, order=1, alphabet_size=size).probabilities
    quadrature = estimators.bayes_under_transition_noise(tokens, order=1, alphabet_size=size, strength=0.0)
    np.testing.assert_allclose(quadrature.probabilities, exact, rtol=1e-10)


@pytest.mark.parametrize("strength", [0.1, 0.5, 0.9])
def test_binary_quadrature_equals_adaptive_integration(strength):
    tokens = [0, 1, 1, 0, 1, 0, 0, 1, 0, 1, 0]
    got = estimators.bayes_under_transition_noise(tokens, order=1, alphabet_size=2, strength=strength)
    counts = oracles.followers(tokens, len(tokens) - 1, 1)

    def likelihood(p, power):
        zero = (1 - strength) * p + strength / 2
        return zero ** (counts[0] + power) * (1 - zero) ** counts[1]

    expected = (
        scipy.integrate.quad(likelihood, 0, 1, args=(1,))[0] / scipy.integrate.quad(likelihood, 0, 1, args=(0,))[0]
    )
    assert abs(got.probabilities[-1, 0] - expected) < 1e-12


def test_ternary_quadrature_equals_monte_carlo():
    tokens = [0, 1, 2, 0, 2, 0, 1, 0]
    got = estimators.bayes_under_transition_noise(tokens, order=1, alphabet_size=3, strength=0.3)
    counts = oracles.followers(tokens, len(tokens) - 1, 1)
    rows = 0.7 * np.random.default_rng(0).dirichlet(np.ones(3), size=400_000) + 0.1
    weights = np.prod([rows[:, s] ** counts[s] for s in range(3)], axis=0)
    expected = weights @ rows / weights.sum()
    np.testing.assert_allclose(got.probabilities[-1], expected, atol=2e-3)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (([0, 1, 3], {"order": 1, "alphabet_size": 2}), "token 3 at position 2, must be 0 to 1"),
        (([0, -1], {"order": 1, "alphabet_size": 2}), "token -1 at position 1"),
        (([0, 1], {"order": 0, "alphabet_size": 2}), "order is 0, must be at least 1"),
        (([0, 1], {"order": 2, "alphabet_size": 2}), "order is 2, must be smaller than the length 2"),
        (([0, 0], {"order": 1, "alphabet_size": 1}), "alphabet size is 1, must be at least 2"),
        ((np.zeros((2, 3), int), {"order": 1, "alphabet_size": 2}), "shape (2, 3), must be one sequence"),
        ((np.zeros(3), {"order": 1, "alphabet_size": 2}), "must be integers"),
    ],
)
def test_bad_tokens_are_refused_in_one_line(arguments, message):
    tokens, options = arguments
    for name in oracles.ESTIMATORS:
        with pytest.raises((InputError, TypeError)) as caught:
            getattr(estimators, name)(tokens, **options)
        if isinstance(caught.value, InputError):
            assert message in str(caught.value)
            assert "\n" not in str(caught.value)


def test_bad_smoothing_and_strength_are_refused():
    with pytest.raises(InputError, match="beta is 0, must be above 0"):
        estimators.add_beta([0, 1, 0], order=1, alphabet_size=2, beta=0)
    with pytest.raises(InputError, match=r"strength is 1\.5, must be between 0 and 1"):
        estimators.bayes_under_transition_noise([0, 1, 0], order=1, alphabet_size=2, strength=1.5)
    with pytest.raises(InputError, match="the limit is 65536"):
        estimators.bayes_under_transition_noise([0, 1] * 300, order=1, alphabet_size=4, strength=0.1)
