"""Priors under which contexts share rows."""

import itertools

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from anyorder import estimators
from anyorder.chains import BagSymmetric, Dirichlet, Kernel, OrderMixture, Source, Tree, named_prior
from anyorder.errors import InputError

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


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda: OrderMixture(2, 3, 2), "smallest order is 3, must be between 0 and the largest, 2"),
        (lambda: Tree(2, 3, concentration=0.0), "concentration is 0.0, must be above 0"),
        (lambda: named_prior("forest", 1, 2), "prior is 'forest', must be one of dirichlet, floored"),
        (lambda: Source(Dirichlet(1, 2), 4).sample(0, 10**9), "sample fewer or shorter ones"),
        (lambda: Source(Dirichlet(1, 2), 4, per_kernel=2).sample(0, 3), "must be a multiple of the 2"),
        (lambda: Source(Dirichlet(1, 2), 4).sample(1 << 70, 1), "seed is 1180591620717411303424"),
    ],
)
def test_bad_sources_are_refused_in_one_line(make, words):
    with pytest.raises(InputError, match=words):
        make()


def test_sampling_inside_a_compiled_program_is_sampling():
    source = Source(OrderMixture(2), 8)
    inside = jax.jit(lambda key: source.sample(key, 3, jnp.float32).tokens)(KEY)
    np.testing.assert_array_equal(inside, source.sample(KEY, 3, jnp.float32).tokens)


def test_an_integer_is_a_key_and_what_is_shown_fits_on_a_screen():
    prior = BagSymmetric(6, 2)
    np.testing.assert_array_equal(prior.draw(3), prior.draw(jax.random.key(3)))
    drawn = Source(prior, 200).sample(3, 8)
    estimate = estimators.floor(Source(prior, 200))(drawn.tokens[0])
    for shown in (drawn, estimate, Kernel(drawn.kernels[0])):
        assert len(repr(shown)) < 100
        assert len(shown._repr_html_().split("<tr>")) <= 17
