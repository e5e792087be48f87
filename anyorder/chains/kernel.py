"""`Kernel`: the transition probabilities of a chain of any order over any alphabet, and derived quantities."""

from __future__ import annotations

import dataclasses
import functools
import itertools
import math

import numpy as np
from jaxtyping import Complex, Float
from numpy.typing import ArrayLike

from anyorder.chains import lifted_chain
from anyorder.errors import InputError, check_order, require
from anyorder.io.gates import check_number
from anyorder.io.notebook import as_html

#: Tolerance for the sum of a row: the rounding of float32 rows.
ROW_TOLERANCE = 1e-5
#: A dense kernel holds S^(k+1) numbers; this many are 1 GiB in float64.
LARGEST_DENSE_KERNEL = 1 << 27
#: Contexts that a notebook shows.
SHOWN = 16


def dense_shape(order: int, alphabet_size: int) -> tuple[int, ...]:
    """Check order, alphabet size and memory, and return the shape (S,)*k + (S,) of a dense kernel.

    >>> dense_shape(2, 3)
    (3, 3, 3)
    """
    check_order(order)
    check_number("alphabet_size", alphabet_size)
    check_number("order", order)
    entries = int(alphabet_size) ** (int(order) + 1)
    if entries > LARGEST_DENSE_KERNEL:
        size = f"{entries}" if entries < 10**12 else f"about 10^{int((order + 1) * math.log10(alphabet_size))}"
        raise InputError(
            f"a dense kernel of order {order} over {alphabet_size} symbols has {size} entries, the limit is "
            f"{LARGEST_DENSE_KERNEL}; lower the order, or use estimators.StreamingEstimator, which needs no kernel"
        )
    return (alphabet_size,) * (order + 1)


@dataclasses.dataclass(frozen=True, eq=False)
class Kernel:
    """π(s | x_{n-k+1}, …, x_n) as an array of shape (S,)*k + (S,): oldest token first, next symbol last.

    >>> kernel = Kernel([[0.9, 0.1], [0.5, 0.5]])
    >>> kernel.order, kernel.alphabet_size, round(kernel.entropy_rate, 6)
    (1, 2, 0.386427)
    """

    probabilities: Float[np.ndarray, "*contexts symbols"]

    def __init__(self, probabilities: ArrayLike) -> None:
        masked = isinstance(probabilities, np.ma.MaskedArray)
        require(not masked, "the kernel is a masked array; fill the masked entries, or give its .data")
        try:
            if np.asarray(probabilities).dtype.kind in "cmMSU":  # NumPy converts these too
                raise TypeError
            array = np.array(probabilities, dtype=np.float64)
        except (TypeError, ValueError, OverflowError):
            raise InputError("the kernel is not an array of numbers; give one of shape (S,)*k + (S,)") from None
        require(
            array.ndim >= 2 and len(set(array.shape)) == 1 and array.shape[-1] >= 2,
            f"kernel has shape {array.shape}, must be (S,)*k + (S,) with k >= 1 and S >= 2; "
            "reshape it, oldest token first",
        )
        dense_shape(array.ndim - 1, array.shape[-1])
        _check_rows(array)
        array.setflags(write=False)
        object.__setattr__(self, "probabilities", array)

    def __repr__(self) -> str:
        return f"Kernel(order {self.order} over {self.alphabet_size} symbols)"

    def _repr_html_(self) -> str:
        contexts = itertools.islice(np.ndindex(self.probabilities.shape[:-1]), SHOWN)
        rows = {" ".join(map(str, context)): self.probabilities[context].tolist() for context in contexts}
        return as_html(repr(self), rows)

    @property
    def order(self) -> int:
        """The number of past tokens that the next one depends on."""
        return self.probabilities.ndim - 1

    @property
    def alphabet_size(self) -> int:
        """The number of symbols."""
        return self.probabilities.shape[-1]

    @property
    def rows(self) -> Float[np.ndarray, "contexts symbols"]:
        """One row of next-symbol probabilities for each context, contexts numbered as in `lifted`."""
        return self.probabilities.reshape(-1, self.alphabet_size)

    @functools.cached_property
    def transition_matrix(self) -> lifted_chain.Matrix:
        """The lifted chain on S^k contexts; sparse when large."""
        return lifted_chain.transition_matrix(self.rows)

    @functools.cached_property
    def stationary(self) -> Float[np.ndarray, "*contexts"]:
        """The stationary distribution of contexts, of shape (S,)*k."""
        distribution = lifted_chain.stationary_distribution(self.transition_matrix)
        return distribution.reshape(self.probabilities.shape[:-1])

    @functools.cached_property
    def symbol_distribution(self) -> Float[np.ndarray, "symbols"]:
        """The stationary distribution μ of single symbols."""
        return self.stationary.reshape(self.alphabet_size, -1).sum(axis=1)

    @functools.cached_property
    def eigenvalues(self) -> Complex[np.ndarray, "leading"]:
        """Eigenvalues of the lifted chain by decreasing modulus (the leading six when it is sparse)."""
        return lifted_chain.leading_eigenvalues(self.transition_matrix)

    @property
    def second_eigenvalue(self) -> complex:
        """The eigenvalue of second largest modulus of the lifted chain."""
        return complex(self.eigenvalues[1])

    @property
    def spectral_gap(self) -> float:
        """1 - |λ_2|: the rate at which the lifted chain forgets its start."""
        return 1.0 - abs(self.second_eigenvalue)

    @functools.cached_property
    def irreducible(self) -> bool:
        """Whether every context can be reached from every other."""
        classes = lifted_chain.closed_classes(self.transition_matrix)
        return len(classes) == 1 and len(classes[0]) == len(self.rows)

    @functools.cached_property
    def aperiodic(self) -> bool:
        """Whether every closed class of contexts has period one."""
        matrix = self.transition_matrix
        return all(
            lifted_chain.period(matrix[members][:, members]) == 1 for members in lifted_chain.closed_classes(matrix)
        )

    @functools.cached_property
    def reversibility_defect(self) -> float:
        """Largest |μ(w) - μ(w read backwards)| over words w of k + 1 tokens; zero for a reversible chain."""
        words = self.stationary[..., None] * self.probabilities
        return float(np.abs(words - words.transpose()).max())

    @property
    def reversible(self) -> bool:
        """Whether the stationary process looks the same read backwards."""
        return self.reversibility_defect < 1e-9

    @functools.cached_property
    def row_entropies(self) -> Float[np.ndarray, "*contexts"]:
        """Entropy of each row, in nats."""
        logs = np.log(np.where(self.probabilities > 0, self.probabilities, 1.0))
        return -(self.probabilities * logs).sum(axis=-1)

    @property
    def entropy_rate(self) -> float:
        """Σ_a μ(a) H(π(· | a)) in nats: the least loss per token of a long stationary sequence."""
        return float((self.stationary * self.row_entropies).sum())

    @property
    def optimal_loss(self) -> float:
        """The paper's L* (Theorem 4) for this kernel: the mean entropy over contexts, weighted equally."""
        return float(self.row_entropies.mean())


def _check_rows(array: Float[np.ndarray, "*contexts symbols"]) -> None:
    for bad, what in (
        (np.isnan(array), "NaN"),
        (np.isinf(array), "an infinite probability"),
        (array < 0, "a negative probability"),
    ):
        if bad.any():
            place = tuple(int(index) for index in np.argwhere(bad)[0])
            raise InputError(f"kernel has {what} at {place}; probabilities are finite and at least 0")
    sums = array.sum(axis=-1)
    wrong = np.abs(sums - 1.0) > ROW_TOLERANCE
    if wrong.any():
        context = tuple(int(index) for index in np.argwhere(wrong)[0])
        raise InputError(
            f"kernel row of context {context} sums to {sums[context]:.6g}, must be 1; divide the row by its sum"
        )
