"""Priors over kernels, from which fresh chains are drawn.

A prior is a small pytree with one method, `draw(key, dtype)`, which returns one kernel array of shape
(S,)*k + (S,); callers turn integer seeds into keys and use `vmap`. Numbers such as γ are leaves, so changing them does
not recompile.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Mapping
from typing import Any, ClassVar

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jax.typing import DTypeLike
from jaxtyping import Array, Bool, Float, Int, PRNGKeyArray

from anyorder.chains.kernel import Kernel, dense_shape
from anyorder.chains.random import uniforms
from anyorder.errors import InputError, require
from anyorder.io.gates import check_fields, check_number, gated


class Prior(eqx.Module):
    """A distribution over kernels of one order and alphabet size."""

    name: ClassVar[str] = "given"
    order: int = eqx.field(static=True)
    alphabet_size: int = eqx.field(static=True)

    def draw(self, key: PRNGKeyArray, dtype: DTypeLike = jnp.float64) -> Float[Array, "*contexts symbols"]:
        """One kernel of shape (S,)*k + (S,) in this type; the one method that a prior must override."""
        raise InputError(f"{type(self).__name__} has no method draw(key, dtype); write one that returns a kernel")

    def floor(self, tokens: Int[Array, "length"]) -> Any:
        """The Bayes predictor's rows (length, S) on one sequence, for a uniform start without noise.

        A user-defined prior may override it; None means unknown.
        """
        return None

    def predictors(self) -> Mapping[str, Callable[[Int[Array, "length"]], Any]]:
        """Further predictors by name, with which evaluation compares a model; each returns rows (length, S)."""
        return {}

    @property
    def orders(self) -> range:
        """The orders that a chain may have; several where the order is unknown."""
        return range(self.order, self.order + 1)

    def __check_init__(self) -> None:
        check_fields(self)
        dense_shape(self.order, self.alphabet_size)


def concentration_field() -> Any:
    """The field of a prior that is the parameter of its Dirichlet rows."""

    def checked(concentration: float) -> float:
        check_number("concentration", concentration, float)
        return concentration

    return eqx.field(static=True, default=1.0, converter=checked)


def dirichlet_rows(
    key: PRNGKeyArray, shape: tuple[int, ...], concentration: float, dtype: DTypeLike
) -> Float[Array, "*contexts symbols"]:
    """Rows from Dirichlet(concentration, …, concentration): normalised Gamma variables.

    >>> dirichlet_rows(jax.random.key(0), (3, 2), 1.0, jnp.float64).sum(axis=-1).round(12).tolist()
    [1.0, 1.0, 1.0]
    """
    flat = (math.prod(shape[:-1]), shape[-1])  # two axes compile to much faster code than k + 1
    if concentration == 1.0 and shape[-1] == 2:  # uniform on the segment
        first = uniforms(key, flat[:1], dtype).astype(dtype)
        rows = jnp.stack([first, 1 - first], axis=-1)
    elif concentration == 1.0:  # Gamma(1) is the exponential distribution, much cheaper to draw
        weights = -jnp.log1p(-uniforms(key, flat, dtype)).astype(dtype)
        rows = weights / weights.sum(axis=-1, keepdims=True)
    else:
        logs = jax.random.loggamma(key, concentration, flat, dtype)  # logarithms: small α underflows
        rows = jax.nn.softmax(logs, axis=-1)
    return rows.reshape(shape)


class Dirichlet(Prior):
    """Independent rows from Dirichlet(α, …, α); the paper's data have α = 1, uniform on the simplex (Sec. 2.1).

    >>> Dirichlet(order=2, alphabet_size=3).draw(jax.random.key(0)).shape
    (3, 3, 3)
    """

    name: ClassVar[str] = "dirichlet"
    concentration: float = concentration_field()

    def draw(self, key: PRNGKeyArray, dtype: DTypeLike = jnp.float64) -> Float[Array, "*contexts symbols"]:
        """One kernel."""
        return dirichlet_rows(key, dense_shape(self.order, self.alphabet_size), self.concentration, dtype)


class Floored(Prior):
    """(1 - γ)·Dirichlet(1) + γ/S rows: every transition has probability at least γ/S.

    With `mixing` (the default) kernels whose rows are too similar are redrawn, so that all four
    assumptions of App. C hold. The test is Σ_s ‖π(·|s) - π̄‖² ≥ γ²/S around the unweighted mean row π̄. It implies
    the paper's second assumption, because the mean row minimises that sum; and it is invariant under renaming symbols
    in rows or columns, so that E[π] stays uniform.

    >>> bool((Floored(order=1, alphabet_size=3, gamma=0.2).draw(jax.random.key(0)) > 0.2 / 3).all())
    True
    """

    name: ClassVar[str] = "floored"
    gamma: float | Float[Array, ""] = 0.2
    mixing: bool = eqx.field(static=True, default=True)

    def __check_init__(self) -> None:
        check_fields(self)
        if isinstance(self.gamma, float | int):
            require(0 < self.gamma < 1, f"gamma is {self.gamma}, must be between 0 and 1; the default is 0.2")
            # Rows are furthest apart at the corners: (1 - γ)²·S^k·(1 - 1/S) is the largest sum that the test can see.
            inverse = float(self.alphabet_size) ** (-self.order / 2) / math.sqrt(self.alphabet_size - 1)
            largest = 0.99 / (1 + inverse)
            require(
                not self.mixing or self.gamma < largest,
                f"gamma is {self.gamma}, no rows are different enough for App. C; pass a `gamma=` below {largest:.3f}",
            )

    @eqx.filter_jit
    def draw(self, key: PRNGKeyArray, dtype: DTypeLike = jnp.float64) -> Float[Array, "*contexts symbols"]:
        """One kernel."""
        shape = dense_shape(self.order, self.alphabet_size)
        gamma = jnp.asarray(self.gamma, dtype)

        def propose(key: PRNGKeyArray) -> Float[Array, "*contexts symbols"]:
            rows = dirichlet_rows(key, shape, 1.0, dtype)
            return (1 - gamma) * rows + gamma / self.alphabet_size

        def mixes(kernel: Float[Array, "*contexts symbols"]) -> Bool[Array, ""]:
            rows = kernel.reshape(-1, self.alphabet_size)
            spread = jnp.square(rows - rows.mean(axis=0)).sum()
            return spread >= jnp.square(gamma) / self.alphabet_size

        return draw_until(key, propose, mixes) if self.mixing else propose(key)


class ReversibleBinary(Prior):
    """Second-order binary kernels that satisfy Assumption 2 of App. D with its first part read as time reversibility.

    As printed, that part requires bag-symmetric kernels; see `BagSymmetric` and docs/assumptions.md.

    The four free numbers are π(0|s_1 s_2). They are drawn uniformly, ordered so that the transition
    preference holds (π(0|00) > π(0|10) and π(1|11) > π(1|01)), and redrawn while the second-hop
    likelihood Σ_s π²(s|s,s) is below 1. Time reversibility is no restriction: for a binary alphabet
    μ(001) = μ(00) - μ(000) = μ(100), and likewise for 011, so every such chain is reversible.
    Contexts of the preference are read oldest token first, as everywhere in this package; with `newest_first` they are
    read as in the gradient analysis and the proofs of App. D and F (x_n = s_1, x_{n-1} = s_2).

    >>> ReversibleBinary().draw(jax.random.key(0)).shape
    (2, 2, 2)
    """

    order: int = eqx.field(static=True, default=2)
    alphabet_size: int = eqx.field(static=True, default=2)
    newest_first: bool = eqx.field(static=True, default=False)

    def __check_init__(self) -> None:
        check_fields(self)
        require(
            self.order == 2 and self.alphabet_size == 2,
            f"order {self.order} over {self.alphabet_size} symbols; ReversibleBinary is order 2 over 2 symbols, "
            "use Reversible for others",
        )

    @property
    def name(self) -> str:  # type: ignore[override]
        """The name, one for each reading of contexts."""
        return "reversible-binary-newest" if self.newest_first else "reversible-binary"

    @eqx.filter_jit
    def draw(self, key: PRNGKeyArray, dtype: DTypeLike = jnp.float64) -> Float[Array, "*contexts symbols"]:
        """One kernel."""

        def propose(key: PRNGKeyArray) -> Float[Array, "2 2 2"]:
            drawn = jax.random.uniform(key, (2, 2), dtype)  # [s_2, ·]: the two contexts that end in s_2
            low, high = drawn.min(axis=1), drawn.max(axis=1)
            # π(0|s_1, s_2) is larger where s_1 = 0, for s_2 = 0 and for s_2 = 1.
            zero = jnp.stack([high, low])  # [s_1, s_2]
            zero = zero.T if self.newest_first else zero  # to [older, newer]
            return jnp.stack([zero, 1 - zero], axis=-1)

        return draw_until(key, propose, lambda kernel: second_hop(kernel) >= 1)


#: The same with contexts read newest token first.
NEWEST_FIRST = functools.partial(ReversibleBinary, newest_first=True)


def second_hop(kernel: Float[Array, "2 2 2"]) -> Float[Array, ""]:
    """Σ_s π²(s | s, s): the probability of s two steps after the context (s, s), summed over s.

    >>> float(second_hop(jnp.full((2, 2, 2), 0.5)))
    1.0
    """
    two_steps = jnp.einsum("abc,bcd->abd", kernel, kernel)
    return two_steps[0, 0, 0] + two_steps[1, 1, 1]


class Reversible(Prior):
    """Reversible kernels of any order: Gibbs measures whose weights are invariant under reversal of words.

    Each word w of k + 1 tokens has the energy σ·z(w) + c·Σ_j 1[w_0 = w_j]/k with normal z, averaged over the
    word and its mirror image, and the weight exp(energy). The kernel is the Gibbs measure of these weights:
    with M the transfer matrix on contexts and r its leading right eigenvector,
    π(s|a) = M(a,b) r(b) / (λ r(a)). The stationary process is reversible by construction and every transition
    is possible. For order one the kernel is made lazy, (I + π)/2, so its spectrum is positive. Kernels are redrawn
    until their return counts decrease, the property that App. D derives from its assumptions;
    docs/assumptions.md discusses positive spectra above order one.

    >>> Kernel(Reversible(order=3, alphabet_size=2).draw(jax.random.key(0))).reversible
    True
    """

    name: ClassVar[str] = "reversible"
    roughness: float | Float[Array, ""] = 0.5
    coupling: float | Float[Array, ""] = 1.5
    iterations: int = eqx.field(static=True, default=400)
    falling: bool = eqx.field(static=True, default=True)
    """Whether kernels are redrawn until their return counts decrease."""

    @eqx.filter_jit
    def draw(self, key: PRNGKeyArray, dtype: DTypeLike = jnp.float64) -> Float[Array, "*contexts symbols"]:
        """One kernel."""
        if not self.falling:
            return self._gibbs(key, dtype)
        return draw_until(
            key,
            lambda key: self._gibbs(key, dtype),
            lambda kernel: (jnp.diff(return_counts(kernel, RETURN_STEPS)) < 0).all(),
        )

    def _gibbs(self, key: PRNGKeyArray, dtype: DTypeLike) -> Float[Array, "*contexts symbols"]:
        size, shape = self.alphabet_size, dense_shape(self.order, self.alphabet_size)
        noise = jax.random.normal(key, shape, dtype)
        tokens = jnp.indices(shape)
        agreement = sum(tokens[0] == tokens[j] for j in range(1, self.order + 1)) / self.order
        energy = jnp.asarray(self.roughness, dtype) * noise + jnp.asarray(self.coupling, dtype) * agreement
        weights = jnp.exp((energy + energy.transpose()) / 2).astype(dtype)

        def transfer(_: Int[Array, ""], vector: Float[Array, "*contexts"]) -> Float[Array, "*contexts"]:
            # (M r)(x_0 … x_{k-1}) = Σ_s w(x_0 … x_{k-1}, s) r(x_1 … x_{k-1}, s)
            stepped = (weights * vector[None]).sum(axis=-1)
            return stepped / stepped.sum()

        start = jnp.full(shape[:-1], 1 / size**self.order, dtype)
        leading = jax.lax.fori_loop(0, self.iterations, transfer, start)
        unnormalised = weights * leading[None]
        kernel = unnormalised / unnormalised.sum(axis=-1, keepdims=True)
        return (kernel + jnp.eye(size, dtype=dtype)) / 2 if self.order == 1 else kernel


#: Return counts are compared at lags 1 … 8.
RETURN_STEPS = 8


def return_counts(kernel: Float[Array, "*contexts symbols"], steps: int) -> Float[Array, "{steps}"]:
    """g_l = Σ_a Σ_j Pr(the token l steps after context a equals a_j), l = 1 … steps (App. F, second lemma).

    >>> return_counts(jnp.eye(2), 3).tolist()
    [2.0, 2.0, 2.0]
    """
    tokens = jnp.indices(kernel.shape)
    matches = sum(
        tokens[j] == tokens[-1] for j in range(kernel.ndim - 1)
    )  # number of occurrences in a of the symbol on the last axis

    def step(later: Array, _: None) -> tuple[Array, Float[Array, ""]]:
        # later[a, s] = Pr(s comes l steps after a); one step more goes through the context (a_2 … a_k, s')
        return (kernel[..., None] * later[None]).sum(axis=-2), (matches * later).sum()

    return jax.lax.scan(step, kernel, None, length=steps)[1]


class PointMass(Prior):
    """A prior that always draws the given kernel.

    >>> PointMass(Kernel([[0.9, 0.1], [0.5, 0.5]])).draw(jax.random.key(0)).tolist()
    [[0.9, 0.1], [0.5, 0.5]]
    """

    name: ClassVar[str] = "kernel"
    probabilities: Float[Array, "*contexts symbols"]

    @gated
    def __init__(self, kernel: Kernel) -> None:
        self.probabilities = jnp.asarray(np.asarray(kernel.probabilities), jnp.float64)
        self.order, self.alphabet_size = kernel.order, kernel.alphabet_size

    def draw(self, key: PRNGKeyArray, dtype: DTypeLike = jnp.float64) -> Float[Array, "*contexts symbols"]:
        """One kernel."""
        return self.probabilities.astype(dtype)


def draw_until(
    key: PRNGKeyArray,
    propose: Callable[[PRNGKeyArray], Float[Array, "*shape"]],
    accept: Callable[[Float[Array, "*shape"]], Bool[Array, ""]],
) -> Float[Array, "*shape"]:
    """Rejection sampling: propose until accepted, inside a compiled program."""

    def step(state: tuple[PRNGKeyArray, Array]) -> tuple[PRNGKeyArray, Array]:
        key, again = jax.random.split(state[0])
        return key, propose(again)

    key, first = jax.random.split(key)
    return jax.lax.while_loop(lambda state: ~accept(state[1]), step, (key, propose(first)))[1]
