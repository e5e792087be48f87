"""Priors under which contexts share rows."""

import itertools

import jax
import numpy as np

from anyorder.chains import BagSymmetric, OrderMixture, Tree

KEY = jax.random.key(11)

COUNT = 4000


def drawn(prior):
    keys = jax.random.split(KEY, COUNT)
    return np.asarray(jax.jit(jax.vmap(lambda key: prior.draw(key)))(keys))


def test_a_bag_symmetric_kernel_has_one_row_for_each_bag():
    kernel = np.asarray(BagSymmetric(3, 3).draw(KEY))
    rows = {}
    for context in itertools.product(range(3), repeat=3):
        rows.setdefault(tuple(sorted(context)), set()).add(tuple(kernel[context]))
    assert len(rows) == 10
    assert all(len(found) == 1 for found in rows.values())
    assert len(set.union(*rows.values())) == 10


def test_the_orders_of_a_mixture_are_uniform():
    kernels = drawn(OrderMixture(2, 1, 3))
    second = (kernels[:, 0] == kernels[:, 1]).all(axis=(1, 2, 3))  # no dependence on the oldest token
    first = second & (kernels[:, :, 0] == kernels[:, :, 1]).all(axis=(1, 2, 3))
    assert abs(first.mean() - 1 / 3) < 0.03
    assert abs((second & ~first).mean() - 1 / 3) < 0.03
    assert abs(kernels[:, 0, 0, 0, 0].mean() - 0.5) < 0.02


def test_leaves_of_random_trees_have_the_depths_of_the_prior():
    kernels = drawn(Tree(2, 2))
    root = (kernels == kernels[:, :1, :1]).all(axis=(1, 2, 3))
    leaf = (kernels[:, 0, 0] == kernels[:, 1, 0]).all(axis=1)  # contexts that end in 0 share a row
    assert abs(root.mean() - 1 / 2) < 0.03
    assert abs((leaf & ~root).mean() - 1 / 4) < 0.03
