"""Priors under which contexts share rows: by bag, by an order below the longest, or by a random context tree.

The kernels have the longest order, with equal rows for contexts that share one, so every function of kernels
accepts them. Rows for shorter contexts are broadcast over the axes of older tokens.
"""

from __future__ import annotations

import itertools
from typing import ClassVar

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jax.typing import DTypeLike
from jaxtyping import Array, Float, Int, PRNGKeyArray

from anyorder.chains.kernel import dense_shape
from anyorder.chains.priors import Prior, concentration_field, dirichlet_rows
from anyorder.errors import require
from anyorder.io.gates import check_fields


def bags(order: int, alphabet_size: int) -> Int[np.ndarray, "*contexts"]:
    """The number of the bag of every context; bags are numbered by their sorted tokens.

    >>> bags(2, 2).tolist()
    [[0, 1], [1, 2]]
    """
    contexts = itertools.product(range(alphabet_size), repeat=order)
    numbers: dict[tuple[int, ...], int] = {}
    found = [numbers.setdefault(tuple(sorted(context)), len(numbers)) for context in contexts]
    return np.array(found, np.int32).reshape((alphabet_size,) * order)


class BagSymmetric(Prior):
    """Kernels that depend on the bag of the last k tokens, not on their order: one Dirichlet row for each bag.

    >>> kernel = BagSymmetric(order=2, alphabet_size=3).draw(jax.random.key(0))
    >>> bool((kernel == kernel.swapaxes(0, 1)).all())
    True
    """

    name: ClassVar[str] = "bag-symmetric"
    concentration: float = concentration_field()

    def draw(self, key: PRNGKeyArray, dtype: DTypeLike = jnp.float64) -> Float[Array, "*contexts symbols"]:
        """One kernel."""
        numbers = bags(self.order, self.alphabet_size)
        return dirichlet_rows(key, (int(numbers.max()) + 1, self.alphabet_size), self.concentration, dtype)[numbers]


class OrderMixture(Prior):
    """Kernels of an order drawn uniformly from `min_order` … `max_order`, with Dirichlet rows.

    >>> kernel = OrderMixture(alphabet_size=2, min_order=1, max_order=2).draw(jax.random.key(3))
    >>> kernel.shape, bool((kernel[0] == kernel[1]).all())  # this one has order 1
    ((2, 2, 2), True)
    """

    name: ClassVar[str] = "order-mixture"
    order: int = eqx.field(static=True, init=False)
    min_order: int = eqx.field(static=True, default=1)
    max_order: int = eqx.field(static=True, default=3)
    concentration: float = concentration_field()

    def __post_init__(self) -> None:
        self.order = self.max_order

    def __check_init__(self) -> None:
        check_fields(self)
        require(
            0 <= self.min_order <= self.max_order,
            f"the smallest order is {self.min_order}, must be between 0 and the largest, {self.max_order}; "
            f"pass `min_order={self.max_order}` or less",
        )

    @property
    def orders(self) -> range:
        """The orders that a kernel may have."""
        return range(self.min_order, self.max_order + 1)

    def draw(self, key: PRNGKeyArray, dtype: DTypeLike = jnp.float64) -> Float[Array, "*contexts symbols"]:
        """One kernel."""
        which, *keys = jax.random.split(key, 1 + len(self.orders))
        shape = dense_shape(self.order, self.alphabet_size)
        kernels = [
            jnp.broadcast_to(dirichlet_rows(key, shape[-1 - order :], self.concentration, dtype), shape)
            for key, order in zip(keys, self.orders, strict=True)
        ]
        chosen = jax.random.randint(which, (), 0, len(kernels), jnp.int32)
        return jax.lax.select_n(chosen, *kernels)


class Tree(Prior):
    """Random context trees, the prior of context-tree weighting, with a Dirichlet row at every leaf.

    A node above the largest depth is a leaf with probability ½; otherwise it has a child for each value of the next
    older token. The next token has the row of the leaf reached from the root by the last tokens, newest first.

    >>> Tree(alphabet_size=2, depth=3).draw(jax.random.key(0)).shape
    (2, 2, 2, 2)
    """

    name: ClassVar[str] = "tree"
    order: int = eqx.field(static=True, init=False)
    depth: int = eqx.field(static=True, default=3)
    concentration: float = concentration_field()

    def __post_init__(self) -> None:
        self.order = self.depth

    @property
    def orders(self) -> range:
        """The depths that a leaf may have."""
        return range(self.depth + 1)

    def draw(self, key: PRNGKeyArray, dtype: DTypeLike = jnp.float64) -> Float[Array, "*contexts symbols"]:
        """One kernel."""
        size = self.alphabet_size
        last, *keys = jax.random.split(key, self.depth + 1)
        kernel = dirichlet_rows(last, (size,) * (self.depth + 1), self.concentration, dtype)
        for depth, key in reversed(list(enumerate(keys))):
            row_key, leaf_key = jax.random.split(key)
            leaf = jax.random.bernoulli(leaf_key, 0.5, (size,) * depth + (1,))
            rows = dirichlet_rows(row_key, (size,) * (depth + 1), self.concentration, dtype)
            kernel = jnp.where(leaf, rows, kernel)
        return kernel
