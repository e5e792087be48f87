"""Doubly stochastic kernels: columns sum to one, rows alone are Dirichlet, contexts are uniform."""

import jax
import numpy as np
import pytest

from anyorder.chains import DoublyStochastic, Kernel
from anyorder.errors import InputError


@pytest.mark.parametrize(("order", "size"), [(1, 2), (1, 4), (2, 3), (3, 2)])
def test_the_stationary_distribution_is_uniform(order, size):
    kernel = np.asarray(DoublyStochastic(order, size).draw(jax.random.key(3)))
    np.testing.assert_allclose(kernel.sum(axis=0), 1, atol=1e-12)
    np.testing.assert_allclose(Kernel(kernel).stationary, size**-order, atol=1e-12)


def test_each_row_alone_is_uniform_on_the_simplex():
    """Dirichlet(1, 1, 1): an entry has mean 1/3 and second moment 1/6."""
    prior = DoublyStochastic(order=1, alphabet_size=3)
    rows = np.asarray(jax.vmap(prior.draw)(jax.random.split(jax.random.key(0), 4000)))
    np.testing.assert_allclose(rows.mean(axis=0), 1 / 3, atol=0.02)
    np.testing.assert_allclose((rows**2).mean(axis=0), 1 / 6, atol=0.02)


def test_too_many_symbols_are_refused():
    with pytest.raises(InputError, match="alphabet size is 7, a doubly stochastic kernel has at most 6 symbols"):
        DoublyStochastic(1, 7)
