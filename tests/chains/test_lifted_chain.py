"""The lifted chain, dense and sparse."""

import numpy as np
import pytest
import scipy.sparse

from anyorder.chains import Kernel, lifted_chain
from tests.chains.small import random_kernel


def test_a_sparse_chain_has_the_leading_eigenvalues_of_the_dense_one_every_time():
    for seed in range(3):
        rows = np.random.default_rng(seed).dirichlet([1, 1], size=(2,) * 8)
        matrix = Kernel(rows).transition_matrix
        dense = np.abs(lifted_chain.leading_eigenvalues(matrix))[:4]
        first, second = (np.abs(lifted_chain.leading_eigenvalues(scipy.sparse.csr_array(matrix)))[:4] for _ in range(2))
        np.testing.assert_allclose(first, dense, atol=1e-10)
        np.testing.assert_array_equal(first, second)


def test_large_chains_are_sparse_and_agree_with_dense_ones(monkeypatch):
    kernel = random_kernel(7, 2)
    dense = (kernel.stationary, kernel.second_eigenvalue, kernel.spectral_gap)
    monkeypatch.setattr(lifted_chain, "DENSE_STATES", 16)
    sparse = Kernel(kernel.probabilities)
    assert not isinstance(sparse.transition_matrix, np.ndarray)
    np.testing.assert_allclose(sparse.stationary, dense[0], rtol=1e-9)
    assert abs(abs(sparse.second_eigenvalue) - abs(dense[1])) < 1e-9
    assert sparse.spectral_gap == pytest.approx(dense[2], abs=1e-9)
    assert sparse.irreducible
    assert sparse.aperiodic
