"""Estimators against brute force over Definition 2, on random, constant, periodic and sparse sequences."""

from fractions import Fraction
from functools import partial

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given, settings

from anyorder import estimators
from anyorder.errors import InputError
from tests import oracles
from tests.estimators.sequences import sequences


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
    for smoothed in (estimators.add_beta, estimators.add_beta_bag):
        with pytest.raises(InputError, match="beta is 0, must be at least 1e-09"):
            smoothed([0, 1, 0], order=1, alphabet_size=2, beta=0)
    with pytest.raises(InputError, match=r"strength is 1\.5, must be between 0 and 1"):
        estimators.bayes_under_transition_noise([0, 1, 0], order=1, alphabet_size=2, strength=1.5)
    with pytest.raises(InputError, match="the limit is 65536"):
        estimators.bayes_under_transition_noise([0, 1] * 300, order=1, alphabet_size=4, strength=0.1)


@pytest.mark.parametrize("beta", [1e308, float("inf"), 1e-320, float("nan"), 1j, True, [1.0], "1", None])
def test_smoothing_that_gives_nonsense_is_refused(beta):
    with pytest.raises(InputError, match=r"^beta is "):
        estimators.bayes([0, 1, 0], order=1, alphabet_size=2, beta=beta)


ESTIMATES = {
    "kgram": {"order": 1}, "bayes": {"order": 1}, "bag": {"order": 1}, "biased": {"order": 1}, "backoff": {"order": 1},
    "add_beta_bag": {"order": 1}, "mixture": {"max_order": 1}, "ctw": {"depth": 1},
}  # fmt: skip


@pytest.mark.parametrize("name", ESTIMATES)
def test_mapped_tokens_outside_the_alphabet_make_rows_nan_from_there_on(name):
    batch = jnp.array([[0, 1, 0, 1, 0, 0], [0, 1, 0, 2, 0, 0], [0, 1, 0, 1, -1, 0]], jnp.int32)
    estimate = partial(getattr(estimators, name), alphabet_size=2, **ESTIMATES[name])
    mapped = jax.vmap(estimate)(batch)
    alone = estimate(batch[0])
    for row, known in enumerate((6, 3, 4)):
        if name != "ctw" or known == 6:  # whose sums over all positions are NaN in every row
            np.testing.assert_allclose(mapped.probabilities[row, :known], alone.probabilities[:known], rtol=1e-12)
            assert mapped.defined[row, :known].tolist() == alone.defined[:known].tolist()
        assert np.isnan(mapped.probabilities[row, known:]).all()
        assert not mapped.defined[row, known:].any()
