"""`Source`: prior, noise, opening and length of sequences as one pytree with a method `sample`.

Its numbers, such as γ and the noise level, are leaves: a compiled program takes the source as an input, so changing
them does not recompile. Everything here is a pure function of a key and can be called inside compiled programs.
"""

from __future__ import annotations

from functools import partial
from typing import Any, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jax.typing import DTypeLike
from jaxtyping import Array, Float, Int, PRNGKeyArray

from anyorder.chains.kernel import ROW_TOLERANCE, Kernel
from anyorder.chains.noise import Noise, TokenNoise, TransitionNoise, observed, substitute
from anyorder.chains.priors import PointMass, Prior, dirichlet_rows
from anyorder.chains.process import Process
from anyorder.chains.random import Seed, as_key, split, uniform_pairs
from anyorder.chains.sampling import Start, opening_rows, walk
from anyorder.errors import InputError, check_order, in_a_line, require, shown
from anyorder.io.gates import check_fields, check_memory, gated
from anyorder.io.notebook import as_html
from anyorder.io.tokens import check_tokens

#: Most numbers that one call may draw, as kernels or as distributions of tokens: 2 GiB in float64.
MOST_NUMBERS = 1 << 28
#: Sequences and tokens that a notebook shows.
SHOWN = 4, 32


class Chains(NamedTuple):
    """A batch of chains: element i of each array belongs to sequence i.

    `truth[i, t]` is the distribution that `tokens[i, t]` was drawn from, given the clean past, so that the
    true loss is exact with and without noise. `clean` is the sequence before token noise. `kernels` is None for
    sequences that are not Markov chains.
    """

    kernels: Float[Array, "count *contexts symbols"] | None
    tokens: Int[Array, "count length"]
    clean: Int[Array, "count length"]
    truth: Float[Array, "count length symbols"]

    def __repr__(self) -> str:
        count, length, size = self.truth.shape
        order = "" if self.kernels is None else f", order {self.kernels.ndim - 2}"
        return f"Chains({count} sequence{'s' * (count != 1)} of {length} tokens{order} over {size} symbols)"

    def _repr_html_(self) -> str:
        shown = self.tokens[: SHOWN[0], : SHOWN[1]].tolist()
        return as_html(repr(self), {f"sequence {n}": " ".join(map(str, row)) for n, row in enumerate(shown)})


def as_prior(given: Prior | Kernel) -> Prior:
    """The prior itself, or, for a kernel, the prior that always draws it."""
    prior = PointMass(given) if isinstance(given, Kernel) else given
    require(
        isinstance(prior, Prior),
        f"the prior is {shown(given)}, must be a prior of `anyorder.chains` or a kernel; `chains.named_prior` has all",
    )
    return prior


class Source(eqx.Module):
    """A prior over kernels, noise, the distribution of the opening, the length, and the sequences per kernel.

    `length` counts tokens; the length T of a training run means T + 1 of them. A `Kernel` in place of the prior is the
    kernel of every sequence. The first k tokens are uniform (the paper's choice) or come from the stationary
    distribution of contexts.

    >>> from anyorder.chains import Dirichlet
    >>> Source(Dirichlet(order=2, alphabet_size=3), length=8).sample(0, count=5)
    Chains(5 sequences of 8 tokens, order 2 over 3 symbols)
    """

    prior: Prior = eqx.field(converter=as_prior)
    length: int = eqx.field(static=True)
    noise: Noise | None = None
    start: Start = eqx.field(static=True, default="uniform")
    per_kernel: int = eqx.field(static=True, default=1)

    def __check_init__(self) -> None:
        check_fields(self)
        check_order(self.prior.order, self.length)
        known = isinstance(self.start, str) and self.start in ("uniform", "stationary")
        require(known, f"start is {shown(self.start)}, must be 'uniform' or 'stationary'")
        require(
            self.noise is None or isinstance(self.noise, Noise),
            f"noise is {shown(self.noise)}, must be a TokenNoise or a TransitionNoise of `anyorder.chains`",
        )
        require(self.per_kernel >= 1, f"sequences per kernel are {self.per_kernel}, must be at least 1")
        needs_kernels = self.start != "uniform" or self.per_kernel > 1 or isinstance(self.noise, TransitionNoise)
        require(
            not (needs_kernels and isinstance(self.prior, Process)),
            f"the prior {self.prior.name} has no kernels; drop `start=`, `per_kernel=` and transition noise",
        )
        if not type(self.prior).__module__.startswith("anyorder."):
            with jax.ensure_compile_time_eval():  # also if a compiled function creates the source
                _check_draw(self.prior, self.length)

    @property
    def order(self) -> int:
        """The largest number of past tokens that the next one depends on."""
        return self.prior.order

    @property
    def alphabet_size(self) -> int:
        """The number of symbols."""
        return self.prior.alphabet_size

    def as_inputs(self, dtype: DTypeLike) -> Source:
        """The source with its numbers as arrays of this type, the inputs of a compiled program.

        >>> from anyorder.chains import Floored
        >>> Source(Floored(1, 2, gamma=0.25), length=4).as_inputs(jnp.float32).prior.gamma
        Array(0.25, dtype=float32)
        """
        return jax.tree.map(partial(jnp.asarray, dtype=dtype), self)

    @gated
    def sample(self, seed: Seed, count: int, dtype: DTypeLike = jnp.float64) -> Chains:
        """Draw `count` sequences; `per_kernel` consecutive ones share a kernel. The seed is an integer or a key."""
        require(count >= 1, f"count is {count}, must be at least 1")
        require(
            count % self.per_kernel == 0,
            f"count is {count}, must be a multiple of {self.per_kernel}, the sequences per kernel",
        )
        numbers = count * self.alphabet_size * max(self.length, self.alphabet_size**self.order)
        require(
            numbers <= MOST_NUMBERS,
            f"{count} sequences of {self.length} tokens of order {self.order} over {self.alphabet_size} symbols take "
            f"{numbers} numbers at once, the limit is {MOST_NUMBERS}; sample fewer or shorter ones",
        )
        check_memory(32 * numbers, f"{count} sequences of {self.length} tokens", "sample fewer or shorter ones")
        return _sample(as_key(seed), self, count, jnp.dtype(dtype))


@gated
def as_source(given: Source | Prior | Kernel, length: int = 33) -> Source:
    """The source itself, or, for a prior or a kernel, its noiseless source of sequences of `length` tokens.

    >>> as_source(Kernel([[0.9, 0.1], [0.5, 0.5]])).length
    33
    """
    return given if isinstance(given, Source) else Source(as_prior(given), length)


def _check_draw(prior: Prior, length: int) -> None:
    """Reject a prior whose first draw is not a distribution in every row."""
    if any(isinstance(leaf, jax.core.Tracer) for leaf in jax.tree.leaves(prior)):
        return
    name, key = type(prior).__name__, jax.random.key(0)

    def draw(key: PRNGKeyArray) -> Any:
        if isinstance(prior, Process):
            return prior.sequence(key, length, jnp.float64)
        return prior.draw(key, jnp.float64)

    try:
        first, again = draw(key), draw(key)
        jax.eval_shape(draw, key)
        same = jax.tree.all(jax.tree.map(lambda one, other: np.array_equal(one, other, equal_nan=True), first, again))
    except InputError:
        raise
    except Exception as error:
        method = "sequence(key, length, dtype)" if isinstance(prior, Process) else "draw(key, dtype)"
        raise InputError(f"{name}.{method} fails: {in_a_line(error)}") from error
    require(same, f"{name} returns different results for equal keys; make the key the only source of randomness")
    if not isinstance(prior, Process):
        drawn, shape = first, (prior.alphabet_size,) * (prior.order + 1)
        require(jnp.shape(drawn) == shape, f"{name} draws kernels of shape {jnp.shape(drawn)}, must be {shape}")
        try:
            Kernel(drawn)
        except InputError as error:
            raise InputError(f"{name} draws no kernel: {error}") from None
        return
    tokens, truth = map(np.asarray, first)
    shapes, expected = (tokens.shape, truth.shape), ((length,), (length, prior.alphabet_size))
    require(shapes == expected, f"{name} draws tokens and rows of shapes {shapes}, must be {expected}")
    check_tokens(tokens, prior.alphabet_size, name)
    wrong = np.flatnonzero((truth.min(axis=1) < 0) | ~(np.abs(truth.sum(axis=1) - 1) < ROW_TOLERANCE))
    require(
        len(wrong) == 0,
        f"{name} draws token {wrong[:1].sum()} from {truth[wrong[:1]].ravel().tolist()}, which is not a distribution; "
        "divide the row by its sum",
    )


@eqx.filter_jit
def _sample(key: PRNGKeyArray, source: Source, count: int, dtype: DTypeLike) -> Chains:
    kernel_key, step_key, noise_key = jax.random.split(key, 3)
    order, size, length, noise = source.order, source.alphabet_size, source.length, source.noise
    if isinstance(source.prior, Process):
        process = source.prior
        clean, truth = jax.vmap(lambda key: process.sequence(key, length, dtype))(split(kernel_key, count))
        return _observed(Chains(None, clean, clean, truth.astype(dtype)), noise_key, noise)
    kernels = jax.vmap(lambda key: source.prior.draw(key, dtype))(split(kernel_key, count // source.per_kernel))
    kernels = kernels.astype(dtype)
    if source.per_kernel > 1:
        kernels = jnp.repeat(kernels, source.per_kernel, axis=0)
    rows = kernels.reshape(count, -1, size)
    openings = jax.vmap(partial(opening_rows, order=order, start=source.start))(rows)
    fresh = None
    if isinstance(noise, TransitionNoise):
        noise_keys = jax.random.split(noise_key, count)
        strength = jnp.asarray(noise.strength, dtype)
        fresh = strength * jax.vmap(lambda key: dirichlet_rows(key, (length, size), 1.0, dtype))(noise_keys)
        fresh = fresh.at[:, :order].set(0)
        rows = (1 - strength) * rows
    clean, drawn_from = walk(openings, rows, order, uniform_pairs(step_key, (length, (count + 1) // 2)), fresh)
    look_up = jax.vmap(lambda rows, indices: rows[indices])
    parts = [look_up(openings, drawn_from[:, :order]), look_up(rows, drawn_from[:, order:])]
    truth = jnp.concatenate(parts, axis=1)
    if fresh is not None:
        truth = truth + fresh
    return _observed(Chains(kernels, clean, clean, truth), noise_key, noise)


def _observed(drawn: Chains, key: PRNGKeyArray, noise: Noise | None) -> Chains:
    """Apply the token noise, if there is any."""
    if not isinstance(noise, TokenNoise):
        return drawn
    count, _, size = drawn.truth.shape
    keys = jax.random.split(key, count)
    tokens = jax.vmap(lambda key, row: substitute(key, row, size, noise))(keys, drawn.clean)
    return drawn._replace(tokens=tokens, truth=observed(drawn.truth, noise))
