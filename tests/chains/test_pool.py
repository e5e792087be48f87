"""A finite pool of chains: the same kernels in every type and for every caller."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from anyorder.chains import Pool, Source
from anyorder.errors import InputError


def test_every_sequence_is_of_one_of_the_kernels_each_as_often_as_the_others():
    pool = Pool(order=1, alphabet_size=3, chains=4, pool_seed=5)
    drawn = np.asarray(Source(pool, length=6).sample(0, 4000).kernels)
    same = (drawn[:, None] == np.asarray(pool.kernels)).all(axis=(2, 3))
    assert (same.sum(axis=1) == 1).all()
    np.testing.assert_allclose(same.mean(axis=0), 0.25, atol=4 * np.sqrt(0.25 * 0.75 / 4000))


def test_training_in_float32_has_the_pool_of_an_evaluation_in_float64():
    source = Source(Pool(order=2, alphabet_size=2, chains=3), length=6)
    narrow = np.asarray(source.as_inputs(jnp.float32).sample(1, 64, jnp.float32).kernels)
    wide = np.unique(np.asarray(source.prior.kernels, np.float32), axis=0)
    np.testing.assert_array_equal(np.unique(narrow, axis=0), wide)


def test_another_seed_is_another_pool_and_given_kernels_are_kept():
    one, other = Pool(1, 2, chains=2), Pool(1, 2, chains=2, pool_seed=1)
    assert not np.array_equal(one.kernels, other.kernels)
    given = jnp.stack([jnp.eye(2), 1 - jnp.eye(2)])
    assert Pool(1, 2, kernels=given).chains == 2
    assert Pool(1, 2, kernels=given).draw(jax.random.key(0)).tolist() in given.tolist()


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"chains": 0}, "chains is 0, must be at least 1; pass `chains=1` or more"),
        ({"concentration": 0.0}, "concentration is 0.0, must be at least 1e-06"),
        ({"kernels": jnp.ones((2, 3, 3)) / 3}, r"kernels of shape \(3, 3\), must be \(2, 2\) for order 1 over 2"),
    ],
)
def test_pools_that_cannot_be_are_refused(options, message):
    with pytest.raises(InputError, match=message):
        Pool(1, 2, **options)
