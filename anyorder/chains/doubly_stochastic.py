"""Doubly stochastic kernels: every context is equally frequent, so that symbol counts carry no information."""

from __future__ import annotations

import itertools
import math
from typing import ClassVar

import jax.numpy as jnp
import numpy as np
from jax.typing import DTypeLike
from jaxtyping import Array, Float, PRNGKeyArray

from anyorder.chains.priors import Prior, concentration_field, dirichlet_rows
from anyorder.errors import require
from anyorder.io.gates import check_fields

#: A kernel mixes S! permutation matrices.
MOST_SYMBOLS = 6


class DoublyStochastic(Prior):
    """Doubly stochastic kernels: the last k - 1 tokens select a matrix from the oldest token to the next one.

    A matrix is a mixture of all S! permutation matrices with weights from Dirichlet(α/(S - 1)!): every doubly
    stochastic matrix is possible, and each row alone is from Dirichlet(α, …, α) as under `Dirichlet`. The stationary
    distribution of contexts is uniform.

    >>> import jax
    >>> kernel = DoublyStochastic(order=2, alphabet_size=3).draw(jax.random.key(0))
    >>> kernel.sum(axis=0).round(12).tolist()
    [[1.0, 1.0, 1.0], [1.0, 1.0, 1.0], [1.0, 1.0, 1.0]]
    """

    name: ClassVar[str] = "doubly-stochastic"
    concentration: float = concentration_field()

    def __check_init__(self) -> None:
        check_fields(self)
        require(
            self.alphabet_size <= MOST_SYMBOLS,
            f"alphabet size is {self.alphabet_size}, a doubly stochastic kernel has at most {MOST_SYMBOLS} symbols; "
            f"pass `alphabet_size={MOST_SYMBOLS}` or less",
        )

    def draw(self, key: PRNGKeyArray, dtype: DTypeLike = jnp.float64) -> Float[Array, "*contexts symbols"]:
        """One kernel."""
        size = self.alphabet_size
        matrices = np.eye(size)[list(itertools.permutations(range(size)))]
        later = (size,) * (self.order - 1)
        weights = dirichlet_rows(key, (*later, len(matrices)), self.concentration / math.factorial(size - 1), dtype)
        return jnp.einsum("...p,pas->a...s", weights, jnp.asarray(matrices, dtype))
