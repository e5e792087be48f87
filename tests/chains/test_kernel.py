"""Kernels, against enumeration and simulation."""

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from anyorder.chains import Dirichlet, Kernel, PointMass, sample
from anyorder.errors import InputError
from tests import oracles
from tests.chains.small import random_kernel


def lifted_by_hand(kernel):
    contexts = list(itertools.product(range(kernel.alphabet_size), repeat=kernel.order))
    matrix = np.zeros((len(contexts), len(contexts)))
    for a, context in enumerate(contexts):
        for symbol in range(kernel.alphabet_size):
            matrix[a, contexts.index((*context[1:], symbol))] += kernel.probabilities[context][symbol]
    return matrix


@settings(max_examples=30, deadline=None)
@given(order=st.integers(1, 4), size=st.integers(2, 4), seed=st.integers(0, 10**6))
def test_lifted_chain_and_its_stationary_distribution(order, size, seed):
    kernel = random_kernel(order, size, seed)
    matrix = lifted_by_hand(kernel)
    np.testing.assert_allclose(kernel.transition_matrix, matrix, rtol=1e-15)
    stationary = np.linalg.matrix_power(matrix, 1 << 20)[0]  # every row of a high power
    np.testing.assert_allclose(kernel.stationary.ravel(), stationary, rtol=1e-8, atol=1e-12)
    assert kernel.irreducible
    assert kernel.aperiodic
    entropies = [oracles.entropy(kernel.probabilities[context]) for context in np.ndindex(*(size,) * order)]
    assert kernel.entropy_rate == pytest.approx(np.dot(stationary, entropies), rel=1e-8)
    assert kernel.optimal_loss == pytest.approx(np.mean(entropies), rel=1e-12)


def test_a_large_kernel_is_handled():
    kernel = random_kernel(12, 2)
    assert kernel.transition_matrix.shape == (4096, 4096)
    np.testing.assert_allclose(
        kernel.stationary.ravel() @ kernel.transition_matrix, kernel.stationary.ravel(), atol=1e-12
    )


def test_stationary_distribution_is_what_a_long_run_visits():
    kernel = random_kernel(2, 3, seed=5)
    tokens = np.asarray(sample(PointMass(kernel), length=200_000, count=1, seed=0).tokens[0])
    pairs = np.zeros((3, 3))
    np.add.at(pairs, (tokens[:-1], tokens[1:]), 1)
    np.testing.assert_allclose(pairs / pairs.sum(), kernel.stationary, atol=0.006)
    np.testing.assert_allclose(np.bincount(tokens) / len(tokens), kernel.symbol_distribution, atol=0.006)


def test_eigenvalues_by_hand():
    kernel = Kernel([[0.9, 0.1], [0.5, 0.5]])
    assert kernel.second_eigenvalue == pytest.approx(0.4)
    assert kernel.spectral_gap == pytest.approx(0.6)
    assert kernel.reversible  # every two-state chain is


@pytest.mark.parametrize(
    ("rows", "irreducible", "aperiodic"),
    [
        ([[0.0, 1.0], [1.0, 0.0]], True, False),
        ([[1.0, 0.0], [0.5, 0.5]], False, True),
        ([[1.0, 0.0], [0.0, 1.0]], False, True),
        ([[0.5, 0.5], [1.0, 0.0]], True, True),
        ([[0, 1, 0], [0, 0, 1], [1, 0, 0]], True, False),
    ],
)
def test_irreducible_and_aperiodic(rows, irreducible, aperiodic):
    kernel = Kernel(rows)
    assert (kernel.irreducible, kernel.aperiodic) == (irreducible, aperiodic)


def test_reversibility():
    assert not Kernel([[0.1, 0.8, 0.1], [0.1, 0.1, 0.8], [0.8, 0.1, 0.1]]).reversible  # turns one way
    assert Kernel([[0.2, 0.4, 0.4], [0.4, 0.2, 0.4], [0.4, 0.4, 0.2]]).reversible
    assert all(random_kernel(2, 2, seed).reversible for seed in range(5))  # binary, order two: always
    assert not random_kernel(2, 3).reversible


def test_an_ambiguous_stationary_distribution_is_refused():
    with pytest.raises(InputError, match="2 closed classes, so its stationary distribution is not unique"):
        _ = Kernel([[1.0, 0.0], [0.0, 1.0]]).stationary


def test_transient_states_get_no_mass():
    np.testing.assert_allclose(Kernel([[1.0, 0.0], [0.5, 0.5]]).stationary, [1.0, 0.0])


@pytest.mark.parametrize(
    ("array", "message"),
    [
        ([[0.5, 0.5], [0.7, 0.4]], r"row of context \(1,\) sums to 1\.1, must be 1"),
        ([[0.5, 0.5], [float("nan"), 1.0]], r"NaN at \(1, 0\)"),
        ([[1.5, -0.5], [0.5, 0.5]], r"negative probability at \(0, 1\)"),
        ([[0.5, 0.5], [float("inf"), 0.5]], "infinite probability"),
        ([0.5, 0.5], r"shape \(2,\), must be"),
        ([[0.5, 0.5]], r"shape \(1, 2\), must be"),
        ([[1.0]], r"shape \(1, 1\), must be"),
    ],
)
def test_bad_kernels_are_refused(array, message):
    with pytest.raises(InputError, match=message):
        Kernel(array)


def test_a_kernel_that_cannot_be_held_says_how_large_it_is():
    with pytest.raises(InputError, match=r"has about 10\^156 entries, the limit is 134217728; .*StreamingEstimator"):
        Dirichlet(order=64, alphabet_size=256)
    with pytest.raises(InputError, match="order is 0"):
        Dirichlet(order=0, alphabet_size=2)
    with pytest.raises(InputError, match="alphabet size is 1"):
        Dirichlet(order=1, alphabet_size=1)


def test_probabilities_are_copied_and_frozen():
    array = np.array([[0.5, 0.5], [0.5, 0.5]])
    kernel = Kernel(array)
    array[0, 0] = 2.0
    assert kernel.probabilities[0, 0] == 0.5
    with pytest.raises(ValueError, match="read-only"):
        kernel.probabilities[0, 0] = 1.0
