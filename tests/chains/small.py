"""A key, kernels and counts that several tests of chains share."""

import jax
import numpy as np

from anyorder.chains import Kernel

KEY = jax.random.key(20)
KERNEL = Kernel(np.random.default_rng(3).dirichlet(np.ones(3), size=(3, 3)))


def transition_counts(tokens, order, size):
    """Counts of (context, symbol) over a batch, by hand."""
    counts = np.zeros((size,) * (order + 1))
    words = np.lib.stride_tricks.sliding_window_view(np.asarray(tokens), order + 1, axis=1)
    np.add.at(counts, tuple(words.reshape(-1, order + 1).T), 1)
    return counts


def random_kernel(order, size, seed=0):
    return Kernel(np.random.default_rng(seed).dirichlet(np.ones(size), size=(size,) * order))
