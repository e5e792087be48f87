"""The mixture over orders and context-tree weighting against sums over all orders and all trees, in fractions."""

from fractions import Fraction

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from anyorder import estimators
from anyorder.errors import InputError
from tests import oracles

SEQUENCES = [
    (2, [0, 1, 1, 0, 1, 0, 0, 1, 1, 1, 0, 1]),
    (2, [0] * 12),
    (3, [2, 0, 1, 2, 0, 1, 1, 0, 2, 2, 0, 1]),
]


def compare(found, tokens, oracle):
    """Every row against the oracle: distributions and posterior, or undefined."""
    for n in range(len(tokens)):
        row, posterior = oracle(n)
        assert bool(found.defined[n]) == (row is not None)
        if row is None:
            assert np.isnan(found.probabilities[n]).all()
            assert np.isnan(found.posterior[n]).all()
        else:
            np.testing.assert_allclose(found.probabilities[n], [float(p) for p in row], rtol=0, atol=1e-13)
            np.testing.assert_allclose(found.posterior[n], [float(p) for p in posterior], rtol=0, atol=1e-13)


@pytest.mark.parametrize(("size", "tokens"), SEQUENCES)
@pytest.mark.parametrize(("low", "high", "beta"), [(0, 4, Fraction(1)), (1, 3, Fraction(1, 2)), (0, 0, Fraction(1))])
def test_the_mixture_is_the_sum_over_all_orders(size, tokens, low, high, beta):
    found = estimators.mixture(tokens, min_order=low, max_order=high, alphabet_size=size, beta=float(beta))
    compare(found, tokens, lambda n: oracles.mixture(tokens, n, range(low, high + 1), size, beta))


@pytest.mark.parametrize(("size", "tokens"), SEQUENCES)
@pytest.mark.parametrize(("depth", "beta"), [(0, Fraction(1)), (1, Fraction(2)), (3, Fraction(1, 2))])
def test_context_tree_weighting_is_the_sum_over_all_trees(size, tokens, depth, beta):
    tokens = tokens[: 12 if size == 2 else 8]
    found = estimators.ctw(tokens, depth=depth, alphabet_size=size, beta=float(beta))
    compare(found, tokens, lambda n: oracles.ctw(tokens, n, depth, size, beta))


def test_a_mixture_of_one_order_is_add_beta_of_that_order():
    tokens = SEQUENCES[2][1]
    found = estimators.mixture(tokens, min_order=2, max_order=2, alphabet_size=3)
    np.testing.assert_allclose(found.probabilities, estimators.add_beta(tokens, order=2, alphabet_size=3).probabilities)


def test_a_batch_in_a_compiled_program_with_beta_as_a_number_of_it():
    tokens = jnp.array([tokens for size, tokens in SEQUENCES if size == 2])

    @jax.jit
    def both(tokens, beta):
        mixed = jax.vmap(lambda row: estimators.mixture(row, max_order=2, alphabet_size=2, beta=beta))(tokens)
        trees = jax.vmap(lambda row: estimators.ctw(row, depth=2, alphabet_size=2, beta=beta))(tokens)
        return mixed, trees

    for found in both(tokens, 0.5):
        assert found.posterior.shape == (2, 12, 3)
        np.testing.assert_allclose(found.probabilities[:, 1:].sum(axis=2), 1, atol=1e-13)
        np.testing.assert_allclose(found.posterior[:, 1:].sum(axis=2), 1, atol=1e-13)


@pytest.mark.parametrize(
    ("name", "options", "message"),
    [
        ("mixture", {"max_order": 2}, "max_order is 2, must be 0 or more and smaller than the length 2"),
        ("mixture", {"min_order": 2, "max_order": 1}, "min_order is 2, must be 0 to max_order, 1"),
        ("ctw", {"depth": -1}, "depth is -1, must be 0 or more"),
        ("ctw", {"depth": 1, "beta": 0.0}, "beta is 0.0, must be at least 1e-09"),
    ],
)
def test_what_is_refused(name, options, message):
    with pytest.raises(InputError) as caught:
        getattr(estimators, name)([0, 1], alphabet_size=2, **options)
    assert message in str(caught.value)
