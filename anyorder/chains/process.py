"""Sources other than Markov chains: a whole sequence is drawn at once, with the distribution of every token."""

from __future__ import annotations

from typing import ClassVar

import jax
import jax.numpy as jnp
from jax.typing import DTypeLike
from jaxtyping import Array, Float, Int, PRNGKeyArray

from anyorder.chains.priors import Prior
from anyorder.errors import InputError, require
from anyorder.io.gates import check_fields


class Process(Prior):
    """A prior over sequences instead of kernels, such as hidden Markov models, switching chains or recall.

    Subclasses override `sequence`, not `draw`. `order` is the number of tokens before the first scored prediction.
    """

    def sequence(
        self, key: PRNGKeyArray, length: int, dtype: DTypeLike = jnp.float64
    ) -> tuple[Int[Array, "length"], Float[Array, "length symbols"]]:
        """The tokens of one sequence, and the distribution that each was drawn from."""
        raise InputError(f"{type(self).__name__} has no method sequence(key, length, dtype); write one")

    def draw(self, key: PRNGKeyArray, dtype: DTypeLike = jnp.float64) -> Float[Array, "*contexts symbols"]:
        """Raise an error: a process has no kernels."""
        raise InputError(f"the prior {self.name} draws sequences and has no kernels; choose a prior over kernels")


class Recall(Process):
    """Key-value recall: pairs of a key and a value; one key is marked, and its value is queried at the end.

    0^(k-1), then pairs κ_j v_j for j = 1 … N, then the k tokens up to the marked key again, then its value. The
    marker is the last symbol S - 1; the key is the marker at one uniform place and 0 at all others, and values are
    uniform among the other symbols. The order-k window before the last token occurred exactly once before, so that the
    k-gram predicts it with certainty. N is as large as the length allows; spare tokens are leading zeros.

    >>> tokens, truth = Recall(order=1, alphabet_size=4).sequence(jax.random.key(0), 8)
    >>> tokens.tolist(), truth[-1].tolist()  # 3 marks the value 1
    ([0, 2, 3, 1, 0, 1, 3, 1], [0.0, 1.0, 0.0, 0.0])
    """

    name: ClassVar[str] = "recall"

    def __check_init__(self) -> None:
        check_fields(self)
        require(
            self.alphabet_size >= 3,
            f"alphabet size is {self.alphabet_size}, recall needs two values and a marker; pass `alphabet_size=3` or "
            "more",
        )

    def pairs(self, length: int) -> int:
        """N, the number of pairs in a sequence of `length` tokens.

        >>> Recall(order=2, alphabet_size=3).pairs(20)
        8
        """
        found = length // 2 - self.order
        least = 2 * self.order + 2
        require(
            found >= 1,
            f"length is {length}, recall of order {self.order} needs {least} or more",
        )
        return found

    def sequence(
        self, key: PRNGKeyArray, length: int, dtype: DTypeLike = jnp.float64
    ) -> tuple[Int[Array, "length"], Float[Array, "length symbols"]]:
        """One sequence, and the distribution of every token given those before it."""
        pairs, order, marker = self.pairs(length), self.order, self.alphabet_size - 1
        which, what = jax.random.split(key)
        marked = jax.random.randint(which, (), 0, pairs, jnp.int32)
        values = jax.random.randint(what, (pairs,), 0, marker, jnp.int32)
        keys = jnp.where(jnp.arange(pairs) == marked, marker, 0).astype(jnp.int32)
        opening = length - 2 * pairs - order - 1
        tokens = jnp.concatenate([jnp.zeros(opening, jnp.int32), jnp.stack([keys, values], axis=1).ravel()])
        window = jax.lax.dynamic_slice(tokens, (opening + 2 * marked - order + 1,), (order + 1,))
        tokens = jnp.concatenate([tokens, window])
        return tokens, self._conditionals(tokens, length).astype(dtype)

    def predict(self, tokens: Int[Array, "read"], length: int) -> Float[Array, "read symbols"]:
        """The Bayes predictor on the tokens read so far of a sequence of `length`: row n predicts token n + 1.

        >>> Recall(order=1, alphabet_size=3).predict(jnp.asarray([0, 1, 2, 0, 2]), 6)[-1].tolist()
        [1.0, 0.0, 0.0]
        """
        return jnp.roll(self._conditionals(tokens, length), -1, axis=0)[: len(tokens)]

    def _conditionals(self, tokens: Int[Array, "read"], length: int) -> Float[Array, "{length} symbols"]:
        """The distribution of every token given those before it, in sequences of `length` tokens."""
        pairs, order, size = self.pairs(length), self.order, self.alphabet_size
        opening, end = length - 2 * pairs - order - 1, length - order - 1
        places = jnp.arange(length)
        tokens = jnp.pad(tokens, (0, length - len(tokens)))
        in_pairs, is_key = (places >= opening) & (places < end), (places - opening) % 2 == 0
        marks = (tokens == size - 1) & in_pairs
        seen = jnp.cumsum(marks) - marks > 0
        left = pairs - (places - opening) // 2  # keys from here on
        symbols = jax.nn.one_hot(jnp.arange(size), size, dtype=jnp.float64)
        chance = jnp.where(seen, 0.0, 1 / jnp.maximum(left, 1))[:, None]
        keys = chance * symbols[-1] + (1 - chance) * symbols[0]
        values = (1 - symbols[-1]) / (size - 1)
        repeated = symbols[tokens[jnp.clip(jnp.argmax(marks) + 1 + places - (length - 1), 0, length - 1)]]
        rows = jnp.where(is_key[:, None], keys, values)
        rows = jnp.where(in_pairs[:, None], rows, repeated)
        return jnp.where((places < opening)[:, None], symbols[0], rows)
