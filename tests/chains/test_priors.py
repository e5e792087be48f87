"""Moments of priors, and priors whose rejection sampling would never end."""

import itertools

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from anyorder.chains import Dirichlet, Floored
from anyorder.errors import InputError
from tests.chains.small import KEY


@pytest.mark.slow
def test_dirichlet_rows_have_the_right_moments():
    for concentration, size in ((1.0, 2), (1.0, 3), (0.5, 2), (4.0, 3)):
        prior = Dirichlet(1, size, concentration)
        kernels = np.asarray(jax.jit(jax.vmap(prior.draw))(jax.random.split(KEY, 20_000)))
        np.testing.assert_allclose(kernels.mean(axis=0), 1 / size, atol=0.01)
        variance = (1 / size) * (1 - 1 / size) / (concentration * size + 1)
        np.testing.assert_allclose(kernels.var(axis=0), variance, rtol=0.05)
        np.testing.assert_allclose(kernels.sum(axis=-1), 1, rtol=1e-12)


def test_return_counts_by_hand():
    from anyorder.chains.priors import return_counts

    kernel = np.random.default_rng(1).dirichlet(np.ones(2), size=(2, 2))
    expected = np.zeros(3)
    for a in itertools.product(range(2), repeat=2):
        for path in itertools.product(range(2), repeat=3):
            word, probability = (*a, *path), 1.0
            for place in range(2, 5):
                probability *= kernel[word[place - 2], word[place - 1], word[place]]
            for lag in range(3):
                expected[lag] += probability * a.count(word[2 + lag])
    np.testing.assert_allclose(return_counts(jnp.asarray(kernel), 3), expected, rtol=1e-12)


@pytest.mark.parametrize(("order", "size", "gamma"), [(1, 2, 0.6), (1, 4, 0.8)])
def test_a_floor_under_which_no_kernel_mixes_is_refused_instead_of_tried_for_ever(order, size, gamma):
    # the corners: one row for each symbol, S of every kind; their spread is below the one required by Assumption 1
    corners = np.eye(size)[np.arange(size**order) % size]
    rows = (1 - gamma) * corners + gamma / size
    assert np.square(rows - rows.mean(axis=0)).sum() < gamma**2 / size
    with pytest.raises(InputError, match=f"gamma is {gamma}, no rows are different enough for App. C"):
        Floored(order, size, gamma)
